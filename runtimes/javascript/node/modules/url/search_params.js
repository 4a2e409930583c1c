// URLSearchParams.

import { binding } from '../../internal/binding.js';
import { invalidThis, missingArgs, nodeError } from '../../internal/errors.js';
import { validateFunction } from '../../internal/validators.js';
import { exposed } from '../../globals/event_target.js';
import { inspect } from '../util/inspect.js';
import { stripControls } from '../util/text.js';

const text = (value) => `${value}`.toWellFormed();

/** `%XX` and `+` undone; bytes that are no UTF-8 become replacement characters. */
function decode(part) {
  part = part.replaceAll('+', ' ');
  if (!part.includes('%')) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    const bytes = binding.utf8Encode(part);
    const out = new Uint8Array(bytes.length);
    let count = 0;
    for (let at = 0; at < bytes.length; at++) {
      const pair = bytes[at] === 0x25 ? String.fromCharCode(bytes[at + 1], bytes[at + 2]) : '';
      if (/^[0-9a-fA-F]{2}$/.test(pair)) {
        out[count++] = parseInt(pair, 16);
        at += 2;
      } else {
        out[count++] = bytes[at];
      }
    }
    return binding.utf8Decode(out, 0, count);
  }
}

function parse(query) {
  if (query[0] === '?') query = query.slice(1);
  const pairs = [];
  for (const part of query.split('&')) {
    if (part === '') continue;
    const at = part.indexOf('=');
    pairs.push(at === -1 ? [decode(part), ''] : [decode(part.slice(0, at)), decode(part.slice(at + 1))]);
  }
  return pairs;
}

function encode(part) {
  if (/^[A-Za-z0-9*\-._]*$/.test(part)) return part;
  return encodeURIComponent(part).replace(/[!'()~]|%20/g, (found) => (found === '%20' ? '+' : `%${found.charCodeAt(0).toString(16).toUpperCase()}`));
}

const notAPair = () => nodeError(TypeError, 'ERR_INVALID_TUPLE', 'Each query pair must be an iterable [name, value] tuple');

function pairsFrom(init) {
  if (init === null || (typeof init !== 'object' && typeof init !== 'function')) return parse(text(init));
  const iterate = init[Symbol.iterator];
  if (iterate == null) {
    const pairs = new Map();
    for (const key of Reflect.ownKeys(init)) {
      if (Reflect.getOwnPropertyDescriptor(init, key)?.enumerable) pairs.set(text(key), text(init[key]));
    }
    return [...pairs];
  }
  if (typeof iterate !== 'function') throw nodeError(TypeError, 'ERR_ARG_NOT_ITERABLE', 'Query pairs must be iterable');
  const pairs = [];
  for (const pair of init) {
    if (pair == null || (typeof pair !== 'object' && typeof pair !== 'function') || typeof pair[Symbol.iterator] !== 'function') throw notAPair();
    const both = [...pair];
    if (both.length !== 2) throw notAPair();
    pairs.push([text(both[0]), text(both[1])]);
  }
  return pairs;
}

export class URLSearchParams {
  #pairs = [];
  #changed;

  constructor(init = undefined) {
    if (init !== undefined) this.#pairs = pairsFrom(init);
  }

  static {
    this.internals = {
      pairs: (params) => params.#pairs,
      replace(params, query) {
        params.#pairs = parse(query);
      },
      /** Parameters that belong to a URL tell it when they change. */
      watch(params, changed) {
        params.#changed = changed;
      },
    };
  }

  static #check(value) {
    if (typeof value !== 'object' || value === null || !(#pairs in value)) throw invalidThis('URLSearchParams');
  }

  get size() {
    URLSearchParams.#check(this);
    return this.#pairs.length;
  }

  append(name, value) {
    URLSearchParams.#check(this);
    if (arguments.length < 2) throw missingArgs('name', 'value');
    this.#pairs.push([text(name), text(value)]);
    this.#changed?.();
  }

  delete(name, value = undefined) {
    URLSearchParams.#check(this);
    if (arguments.length < 1) throw missingArgs('name');
    name = text(name);
    if (value !== undefined) value = text(value);
    this.#pairs = this.#pairs.filter((pair) => pair[0] !== name || (value !== undefined && pair[1] !== value));
    this.#changed?.();
  }

  get(name) {
    URLSearchParams.#check(this);
    if (arguments.length < 1) throw missingArgs('name');
    name = text(name);
    return this.#pairs.find((pair) => pair[0] === name)?.[1] ?? null;
  }

  getAll(name) {
    URLSearchParams.#check(this);
    if (arguments.length < 1) throw missingArgs('name');
    name = text(name);
    return this.#pairs.filter((pair) => pair[0] === name).map((pair) => pair[1]);
  }

  has(name, value = undefined) {
    URLSearchParams.#check(this);
    if (arguments.length < 1) throw missingArgs('name');
    name = text(name);
    if (value !== undefined) value = text(value);
    return this.#pairs.some((pair) => pair[0] === name && (value === undefined || pair[1] === value));
  }

  set(name, value) {
    URLSearchParams.#check(this);
    if (arguments.length < 2) throw missingArgs('name', 'value');
    name = text(name);
    value = text(value);
    const first = this.#pairs.find((pair) => pair[0] === name);
    if (first) {
      first[1] = value;
      this.#pairs = this.#pairs.filter((pair) => pair === first || pair[0] !== name);
    } else {
      this.#pairs.push([name, value]);
    }
    this.#changed?.();
  }

  sort() {
    URLSearchParams.#check(this);
    this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    this.#changed?.();
  }

  entries() {
    URLSearchParams.#check(this);
    return new URLSearchParamsIterator(this, 'entries');
  }

  forEach(callback, thisArg = undefined) {
    URLSearchParams.#check(this);
    validateFunction(callback, 'callback');
    for (let index = 0; index < this.#pairs.length; index++) {
      const [name, value] = this.#pairs[index];
      callback.call(thisArg, value, name, this);
    }
  }

  keys() {
    URLSearchParams.#check(this);
    return new URLSearchParamsIterator(this, 'keys');
  }

  values() {
    URLSearchParams.#check(this);
    return new URLSearchParamsIterator(this, 'values');
  }

  toString() {
    URLSearchParams.#check(this);
    return this.#pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&');
  }

  [inspect.custom](depth, ctx) {
    URLSearchParams.#check(this);
    if (typeof depth === 'number' && depth < 0) return ctx.stylize('[Object]', 'special');
    const inner = depth === null ? { ...ctx } : { ...ctx, depth: depth - 1 };
    const parts = this.#pairs.map(([name, value]) => `${inspect(name, inner)} => ${inspect(value, inner)}`);
    const { name } = this.constructor;
    if (parts.length === 0) return `${name} {}`;
    const length = parts.reduce((total, part) => total + stripControls(part).length + 2, -2);
    return length > ctx.breakLength ? `${name} {\n  ${parts.join(',\n  ')} }` : `${name} { ${parts.join(', ')} }`;
  }
}

export const { internals } = URLSearchParams;
delete URLSearchParams.internals;
Object.defineProperty(URLSearchParams.prototype, Symbol.iterator, { value: URLSearchParams.prototype.entries, writable: true, configurable: true });
exposed(
  URLSearchParams.prototype,
  ['append', 'delete', 'get', 'getAll', 'has', 'set', 'size', 'sort', 'entries', 'forEach', 'keys', 'values', 'toString'],
  'URLSearchParams',
);

class URLSearchParamsIterator {
  #params;
  #kind;
  #index = 0;

  constructor(params, kind) {
    this.#params = params;
    this.#kind = kind;
  }

  #pick([name, value]) {
    return this.#kind === 'keys' ? name : this.#kind === 'values' ? value : [name, value];
  }

  next() {
    if (typeof this !== 'object' || this === null || !(#params in this)) throw invalidThis('URLSearchParamsIterator');
    const pairs = internals.pairs(this.#params);
    if (this.#index >= pairs.length) return { value: undefined, done: true };
    return { value: this.#pick(pairs[this.#index++]), done: false };
  }

  [inspect.custom](depth, ctx) {
    if (typeof depth === 'number' && depth < 0) return ctx.stylize('[Object]', 'special');
    const inner = depth === null ? { ...ctx } : { ...ctx, depth: depth - 1 };
    const rest = internals
      .pairs(this.#params)
      .slice(this.#index)
      .map((pair) => this.#pick(pair));
    const parts = rest.map((each) => inspect(each, inner));
    const broken = inspect(rest, inner).includes('\n');
    return `${this[Symbol.toStringTag]} {${broken ? `\n  ${parts.join(',\n  ')}` : ` ${parts.join(', ')}`} }`;
  }
}

const IteratorPrototype = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
Object.setPrototypeOf(URLSearchParamsIterator.prototype, IteratorPrototype);
delete URLSearchParamsIterator.prototype.constructor;
exposed(URLSearchParamsIterator.prototype, ['next'], 'URLSearchParams Iterator');
