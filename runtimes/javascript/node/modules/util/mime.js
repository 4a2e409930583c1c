// MIMEType and MIMEParams.

import { nodeError } from '../../internal/errors.js';

const NOT_TOKEN = /[^!#$%&'*+\-.^_`|~A-Za-z0-9]/;
const NOT_QUOTED = /[^\t\u0020-~\u0080-\u00FF]/;
const WHITESPACE_START = /[^\r\n\t ]|$/;
const WHITESPACE_END = /[\r\n\t ]*$/;

function invalid(production, text, at) {
  const place = at === -1 ? '' : ` at ${at}`;
  return nodeError(TypeError, 'ERR_INVALID_MIME_SYNTAX', `The MIME syntax for a ${production} in ${JSON.stringify(text)} is invalid${place}`);
}

function quoteValue(value) {
  if (value === '') return '""';
  return NOT_TOKEN.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : value;
}

export class MIMEParams {
  #data = new Map();

  static parse(text) {
    const params = new MIMEParams();
    let at = 0;
    while (at < text.length) {
      at += text.slice(at).search(WHITESPACE_START);
      let end = at;
      while (end < text.length && text[end] !== ';' && text[end] !== '=') end++;
      const name = text.slice(at, end).toLowerCase();
      at = end;
      if (text[at] !== '=') {
        at++;
        continue;
      }
      at++;
      let value;
      if (text[at] === '"') {
        [value, at] = quoted(text, at + 1);
        while (at < text.length && text[at] !== ';') at++;
      } else {
        end = text.indexOf(';', at);
        if (end === -1) end = text.length;
        value = text.slice(at, end).replace(WHITESPACE_END, '');
        at = end;
        if (value === '') {
          at++;
          continue;
        }
      }
      at++;
      if (name !== '' && !NOT_TOKEN.test(name) && !NOT_QUOTED.test(value) && !params.has(name)) params.#data.set(name, value);
    }
    return params;
  }

  delete(name) {
    this.#data.delete(`${name}`);
  }

  get(name) {
    return this.#data.get(`${name}`) ?? null;
  }

  has(name) {
    return this.#data.has(`${name}`);
  }

  set(name, value) {
    name = `${name}`;
    value = `${value}`;
    const badName = name.search(NOT_TOKEN);
    if (name === '' || badName !== -1) throw invalid('parameter name', name, badName);
    const badValue = value.search(NOT_QUOTED);
    if (badValue !== -1) throw invalid('parameter value', value, badValue);
    this.#data.set(name, value);
  }

  *entries() {
    yield* this.#data.entries();
  }

  *keys() {
    yield* this.#data.keys();
  }

  *values() {
    yield* this.#data.values();
  }

  toString() {
    return [...this.#data].map(([name, value]) => `${name}=${quoteValue(value)}`).join(';');
  }
}
MIMEParams.prototype[Symbol.iterator] = MIMEParams.prototype.entries;
MIMEParams.prototype.toJSON = MIMEParams.prototype.toString;
const { parse } = MIMEParams;
delete MIMEParams.parse;

function quoted(text, at) {
  let value = '';
  for (; at < text.length && text[at] !== '"'; at++) {
    if (text[at] === '\\' && at + 1 < text.length) at++;
    value += text[at];
  }
  return [value, at + 1];
}

export class MIMEType {
  #type;
  #subtype;
  #params;

  constructor(input) {
    const text = `${input}`;
    let at = text.search(WHITESPACE_START);
    const slash = text.indexOf('/', at);
    const type = (slash === -1 ? text.slice(at) : text.slice(at, slash)).toLowerCase();
    const badType = type.search(NOT_TOKEN);
    if (type === '' || badType !== -1 || slash === -1) throw invalid('type', text, badType === -1 ? badType : at + badType);
    at = slash + 1;
    const semicolon = text.indexOf(';', at);
    const subtype = (semicolon === -1 ? text.slice(at) : text.slice(at, semicolon)).replace(WHITESPACE_END, '').toLowerCase();
    const badSubtype = subtype.search(NOT_TOKEN);
    if (subtype === '' || badSubtype !== -1) throw invalid('subtype', text, badSubtype === -1 ? badSubtype : at + badSubtype);
    this.#type = type;
    this.#subtype = subtype;
    this.#params = parse(semicolon === -1 ? '' : text.slice(semicolon + 1));
  }

  get type() {
    return this.#type;
  }

  set type(value) {
    value = `${value}`;
    const bad = value.search(NOT_TOKEN);
    if (value === '' || bad !== -1) throw invalid('type', value, bad);
    this.#type = value.toLowerCase();
  }

  get subtype() {
    return this.#subtype;
  }

  set subtype(value) {
    value = `${value}`;
    const bad = value.search(NOT_TOKEN);
    if (value === '' || bad !== -1) throw invalid('subtype', value, bad);
    this.#subtype = value.toLowerCase();
  }

  get essence() {
    return `${this.#type}/${this.#subtype}`;
  }

  get params() {
    return this.#params;
  }

  toString() {
    const params = this.#params.toString();
    return params === '' ? this.essence : `${this.essence};${params}`;
  }
}
MIMEType.prototype.toJSON = MIMEType.prototype.toString;
