// Intl.Collator: the order in which people look words up.

import { resolve, supportedLocalesOf } from './locales.js';

// What comes before digits and letters, in order.
const PUNCTUATION = '\t\n\v\f\r\u0085\u2028\u2029 \xa0_-‐‑‒–—,;:!¡?¿.…·\'‘’‚‹›"“”„«»()[]{}§¶@*/\\&#%‰†‡•`´˜^¯¨°©®+±÷×<=>|¦~¤¢$£¥€';
const WEIGHTS = new Map([...PUNCTUATION].map((char, index) => [char, index + 1]));
// Weights are code units of a key, so that keys compare as texts do.
const DIGITS = 0x200;
const LETTERS = 0x300;

const EXPANSIONS = { ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', đ: 'd', ł: 'l', þ: 'th' };

function letterWeight(code) {
  const weight = LETTERS + code;
  return weight < 0xfff0 ? String.fromCharCode(weight) : String.fromCharCode(0xfff0 + (weight >> 16), weight & 0xffff);
}

// For ASCII: the weight, and what marks an upper-case letter.
const ASCII = Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code);
  if (char >= '0' && char <= '9') return String.fromCharCode(DIGITS + 1 + code - 48);
  if (WEIGHTS.has(char)) return String.fromCharCode(WEIGHTS.get(char));
  return letterWeight(char.toLowerCase().charCodeAt(0));
});

/** The number that begins at `at`: how long it is comes first, so that longer numbers are greater. */
function numberWeight(text, at) {
  let end = at;
  while (end < text.length && text[end] >= '0' && text[end] <= '9') end++;
  const digits = text.slice(at, end).replace(/^0+(?=\d)/, '');
  return { end, weight: String.fromCharCode(DIGITS, digits.length) + digits };
}

/** Keys that compare as the texts should: by letters, then by accents, then by case. */
function keysOf(text, options) {
  let base = '';
  let accents = '';
  let cases = '';
  const plain = text.normalize('NFD');
  for (let at = 0; at < plain.length;) {
    const code = plain.codePointAt(at);
    const char = String.fromCodePoint(code);
    if (code < 128) {
      if (options.numeric && code >= 48 && code <= 57) {
        const { end, weight } = numberWeight(plain, at);
        base += weight;
        at = end;
        continue;
      }
      at++;
      if (options.ignorePunctuation && WEIGHTS.has(char)) continue;
      base += ASCII[code];
      accents += ' ';
      cases += code >= 65 && code <= 90 ? '1' : '0';
      continue;
    }
    at += char.length;
    if (/\p{Mn}/u.test(char)) {
      accents += char;
      continue;
    }
    if (WEIGHTS.has(char)) {
      if (!options.ignorePunctuation) base += String.fromCharCode(WEIGHTS.get(char));
      continue;
    }
    const lower = char.toLowerCase();
    const mark = char === lower ? '0' : '1';
    for (const part of EXPANSIONS[lower] ?? lower) {
      base += letterWeight(part.codePointAt(0));
      accents += EXPANSIONS[lower] ? `!${lower}` : ' ';
      cases += mark;
    }
  }
  return { base, accents, cases };
}

// Sorting compares each text many times: the keys of the last ones are kept, per set of options.
const KEPT = 5000;

function keysFor(text, options) {
  const { cache } = options;
  let keys = cache.get(text);
  if (keys === undefined) {
    if (cache.size >= KEPT) cache.clear();
    cache.set(text, (keys = keysOf(text, options)));
  }
  return keys;
}

const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const SIMPLE = /^[a-z]*$/;

export function compareTexts(x, y, options) {
  if (x === y) return 0;
  // Plain lower-case words sort by code point.
  if (SIMPLE.test(x) && SIMPLE.test(y)) return x < y ? -1 : 1;
  const a = keysFor(x, options);
  const b = keysFor(y, options);
  const base = order(a.base, b.base);
  if (base !== 0 || options.sensitivity === 'base') return base;
  if (options.sensitivity !== 'case') {
    const accent = order(a.accents, b.accents);
    if (accent !== 0) return accent;
  }
  if (options.sensitivity === 'accent') return 0;
  return options.caseFirst === 'upper' ? order(b.cases, a.cases) : order(a.cases, b.cases);
}

export function collation(locales, options = {}) {
  const { locale } = resolve(locales);
  const { usage = 'sort', sensitivity = 'variant', ignorePunctuation = false, numeric = false, caseFirst = 'false' } = options ?? {};
  if (!['base', 'accent', 'case', 'variant'].includes(sensitivity))
    throw new RangeError(`Value ${sensitivity} out of range for Intl.Collator options property sensitivity`);
  const extension = /-u(?:-[a-z0-9]+)*-kn(?:-(true|false))?/.exec(`${locales ?? ''}`);
  return {
    locale,
    usage,
    sensitivity,
    ignorePunctuation: Boolean(ignorePunctuation),
    collation: 'default',
    numeric: options?.numeric === undefined && extension ? extension[1] !== 'false' : Boolean(numeric),
    caseFirst: `${caseFirst}`,
    cache: new Map(),
  };
}

export class Collator {
  #own;
  #compare;

  constructor(locales = undefined, options = undefined) {
    this.#own = collation(locales, options);
  }

  static supportedLocalesOf(locales) {
    return supportedLocalesOf(locales);
  }

  get compare() {
    return (this.#compare ??= Object.defineProperty((x, y) => compareTexts(`${x}`, `${y}`, this.#own), 'name', { value: '' }));
  }

  resolvedOptions() {
    const { cache, ...shown } = this.#own;
    return shown;
  }
}
