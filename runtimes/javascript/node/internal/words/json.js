// Why a text is no JSON, in V8's words.

const CONTEXT = 10;

class Stop {
  constructor(message) {
    this.message = message;
  }
}

function place(text, position) {
  let line = 1;
  let start = 0;
  for (let i = 0; i < position; i++) {
    if (text[i] === '\n' || (text[i] === '\r' && text[i + 1] !== '\n')) {
      line++;
      start = i + 1;
    }
  }
  return `in JSON at position ${position} (line ${line} column ${position - start + 1})`;
}

function unexpected(text, position) {
  if (position >= text.length) return new Stop('Unexpected end of JSON input');
  const token = text[position];
  let shown = `"${text}"`;
  if (text.length > 4 * CONTEXT) {
    const from = Math.max(0, position - CONTEXT);
    const to = Math.min(text.length, position + CONTEXT);
    shown = `${from > 0 ? '...' : ''}"${text.slice(from, to)}"${to < text.length ? '...' : ''}`;
  }
  return new Stop(`Unexpected token '${token}', ${shown} is not valid JSON`);
}

/** Reads `text` as JSON.parse does and stops where that stops. */
class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  fail(what, position = this.at) {
    if (position >= this.text.length && !what.startsWith('Expected property name')) return new Stop('Unexpected end of JSON input');
    return new Stop(`${what} ${place(this.text, position)}`);
  }

  space() {
    while (' \t\n\r'.includes(this.text[this.at] ?? 'x')) this.at++;
  }

  value() {
    this.space();
    const c = this.text[this.at];
    if (c === '{') this.object();
    else if (c === '[') this.array();
    else if (c === '"') this.string();
    else if (c === '-' || (c >= '0' && c <= '9')) this.number();
    else if (c === 't' || c === 'f' || c === 'n') this.word({ t: 'true', f: 'false', n: 'null' }[c]);
    else throw unexpected(this.text, this.at);
  }

  word(word) {
    for (let i = 0; i < word.length; i++, this.at++) {
      if (this.text[this.at] !== word[i]) throw unexpected(this.text, this.at);
    }
  }

  object() {
    this.at++;
    this.space();
    if (this.text[this.at] === '}') {
      this.at++;
      return;
    }
    for (let isFirst = true; ; isFirst = false) {
      this.space();
      if (this.text[this.at] !== '"') {
        throw this.fail(isFirst ? "Expected property name or '}'" : 'Expected double-quoted property name');
      }
      this.string();
      this.space();
      if (this.text[this.at] !== ':') throw this.fail("Expected ':' after property name");
      this.at++;
      this.value();
      this.space();
      const c = this.text[this.at];
      if (c !== ',' && c !== '}') throw this.fail("Expected ',' or '}' after property value");
      this.at++;
      if (c === '}') return;
    }
  }

  array() {
    this.at++;
    this.space();
    if (this.text[this.at] === ']') {
      this.at++;
      return;
    }
    for (;;) {
      this.value();
      this.space();
      const c = this.text[this.at];
      if (c !== ',' && c !== ']') throw this.fail("Expected ',' or ']' after array element");
      this.at++;
      if (c === ']') return;
    }
  }

  string() {
    const { text } = this;
    for (this.at++; ; this.at++) {
      const c = text[this.at];
      if (c === undefined) throw new Stop(`Unterminated string ${place(text, this.at)}`);
      if (c === '"') break;
      if (c < ' ') throw this.fail('Bad control character in string literal');
      if (c !== '\\') continue;
      this.at++;
      if (text[this.at] === 'u') {
        for (let i = 1; i <= 4; i++) {
          if (!/[0-9a-fA-F]/.test(text[this.at + i] ?? '')) {
            this.at += i;
            throw text[this.at] === undefined ? new Stop(`Unterminated string ${place(text, this.at)}`) : this.fail('Bad Unicode escape');
          }
        }
        this.at += 4;
      } else if (!'"\\/bfnrt'.includes(text[this.at] ?? 'x')) {
        throw text[this.at] === undefined ? new Stop(`Unterminated string ${place(text, this.at)}`) : this.fail('Bad escaped character');
      }
    }
    this.at++;
  }

  digits(what) {
    const start = this.at;
    while (this.text[this.at] >= '0' && this.text[this.at] <= '9') this.at++;
    if (this.at === start) throw new Stop(`${what} ${place(this.text, this.at)}`);
  }

  number() {
    const { text } = this;
    if (text[this.at] === '-') {
      this.at++;
      if (!(text[this.at] >= '0' && text[this.at] <= '9')) throw new Stop(`No number after minus sign ${place(text, this.at)}`);
    }
    if (text[this.at] === '0') {
      this.at++;
      if (text[this.at] >= '0' && text[this.at] <= '9') throw this.fail('Unexpected number');
    } else {
      this.digits('Unexpected number');
    }
    if (text[this.at] === '.') {
      this.at++;
      this.digits('Unterminated fractional number');
    }
    if (text[this.at] === 'e' || text[this.at] === 'E') {
      this.at++;
      if (text[this.at] === '+' || text[this.at] === '-') this.at++;
      this.digits('Exponent part is missing a number');
    }
  }
}

/** The message of the SyntaxError for a text that JSON.parse refuses. */
export function jsonWords(text) {
  if (text === 'undefined' || text === '[object Object]') return `"${text}" is not valid JSON`;
  const reader = new Reader(text);
  try {
    reader.value();
    reader.space();
    if (reader.at < text.length) return `Unexpected non-whitespace character after JSON ${place(text, reader.at).slice(8)}`;
  } catch (stop) {
    if (stop instanceof Stop) return stop.message;
  }
  return undefined;
}
