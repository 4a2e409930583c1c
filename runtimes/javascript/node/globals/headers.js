// Headers and FormData.

import { missingArgs } from '../internal/errors.js';
import { inspect } from '../modules/util/inspect.js';
import { Blob, File } from './blob.js';
import { exposed } from './event_target.js';

const TOKEN = /^[!#$%&'*+\-.^_`|~A-Za-z0-9]+$/;

function headerName(name, method) {
  name = `${name}`;
  if (!TOKEN.test(name)) throw new TypeError(`Headers.${method}: "${name}" is an invalid header name.`);
  return name.toLowerCase();
}

function headerValue(value, method) {
  value = `${value}`.replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, '');
  if (/[\0\r\n]|[^\0-\xff]/.test(value)) throw new TypeError(`Headers.${method}: ${value} is an invalid header value.`);
  return value;
}

export class Headers {
  #values = new Map();
  // Names as they were first written, for showing only.
  #spelling = new Map();

  constructor(init = undefined) {
    if (init === undefined) return;
    if (init === null || (typeof init !== 'object' && typeof init !== 'function')) {
      throw new TypeError('Headers constructor: init given is not of type (sequence<sequence<ByteString>> or record<ByteString, ByteString>).');
    }
    if (typeof init[Symbol.iterator] === 'function') {
      for (const pair of init) {
        const both = [...pair];
        if (both.length !== 2) throw new TypeError(`Headers constructor: expected name/value pair to be length 2, found ${both.length}.`);
        this.append(both[0], both[1]);
      }
    } else {
      for (const key of Reflect.ownKeys(init)) if (Object.getOwnPropertyDescriptor(init, key).enumerable) this.append(key, init[key]);
    }
  }

  append(name, value) {
    if (arguments.length < 2) throw missingArgs('name', 'value');
    const shown = `${name}`;
    name = headerName(name, 'append');
    value = headerValue(value, 'append');
    if (!this.#spelling.has(name)) this.#spelling.set(name, shown);
    const list = this.#values.get(name);
    if (list) list.push(value);
    else this.#values.set(name, [value]);
  }

  delete(name) {
    this.#values.delete(headerName(name, 'delete'));
  }

  get(name) {
    return this.#values.get(headerName(name, 'get'))?.join(', ') ?? null;
  }

  getSetCookie() {
    return [...(this.#values.get('set-cookie') ?? [])];
  }

  has(name) {
    return this.#values.has(headerName(name, 'has'));
  }

  set(name, value) {
    if (arguments.length < 2) throw missingArgs('name', 'value');
    const key = headerName(name, 'set');
    if (!this.#values.has(key)) this.#spelling.set(key, `${name}`);
    this.#values.set(key, [headerValue(value, 'set')]);
  }

  #sorted() {
    const pairs = [];
    for (const name of [...this.#values.keys()].sort()) {
      // Cookies cannot be joined: each keeps a line of its own.
      if (name === 'set-cookie') for (const value of this.#values.get(name)) pairs.push([name, value]);
      else pairs.push([name, this.#values.get(name).join(', ')]);
    }
    return pairs;
  }

  forEach(callback, thisArg = undefined) {
    for (const [name, value] of this.#sorted()) callback.call(thisArg, value, name, this);
  }

  keys() {
    return this.#sorted()
      .map(([name]) => name)
      .values();
  }

  values() {
    return this.#sorted()
      .map(([, value]) => value)
      .values();
  }

  entries() {
    return this.#sorted().values();
  }

  [inspect.custom](depth, options) {
    return `Headers ${inspect(Object.fromEntries([...this.#values].map(([name, list]) => [this.#spelling.get(name), list.join(', ')])), options)}`;
  }
}
Object.defineProperty(Headers.prototype, Symbol.iterator, { value: Headers.prototype.entries, writable: true, configurable: true });
exposed(Headers.prototype, ['append', 'delete', 'get', 'has', 'set', 'getSetCookie', 'forEach', 'keys', 'values', 'entries'], 'Headers');

/** A Blob in a form is a file, under the name given or `blob`. */
function entryValue(value, filename) {
  if (!(value instanceof Blob)) return `${value}`.toWellFormed();
  if (value instanceof File && filename === undefined) return value;
  const name = filename === undefined ? 'blob' : `${filename}`;
  return new File([value], name, { type: value.type, lastModified: value.lastModified });
}

export class FormData {
  #entries = [];

  constructor(form = undefined) {
    if (form !== undefined) throw new TypeError('FormData constructor: Argument 1 could not be converted to: undefined.');
  }

  append(name, value, filename = undefined) {
    if (arguments.length < 2) throw missingArgs('name', 'value');
    this.#entries.push([`${name}`.toWellFormed(), entryValue(value, filename)]);
  }

  delete(name) {
    this.#entries = this.#entries.filter(([each]) => each !== `${name}`);
  }

  get(name) {
    return this.#entries.find(([each]) => each === `${name}`)?.[1] ?? null;
  }

  getAll(name) {
    return this.#entries.filter(([each]) => each === `${name}`).map(([, value]) => value);
  }

  has(name) {
    return this.#entries.some(([each]) => each === `${name}`);
  }

  set(name, value, filename = undefined) {
    if (arguments.length < 2) throw missingArgs('name', 'value');
    name = `${name}`.toWellFormed();
    const made = [name, entryValue(value, filename)];
    const first = this.#entries.findIndex(([each]) => each === name);
    if (first === -1) {
      this.#entries.push(made);
      return;
    }
    this.#entries = this.#entries.filter(([each], index) => index === first || each !== name);
    this.#entries[first] = made;
  }

  forEach(callback, thisArg = undefined) {
    for (const [name, value] of this.#entries) callback.call(thisArg, value, name, this);
  }

  keys() {
    return this.#entries.map(([name]) => name).values();
  }

  values() {
    return this.#entries.map(([, value]) => value).values();
  }

  entries() {
    return this.#entries.map((entry) => [...entry]).values();
  }

  [inspect.custom](depth, options) {
    const shown = {};
    for (const [name, value] of this.#entries) shown[name] = name in shown ? [shown[name], value].flat() : value;
    return `FormData ${inspect(shown, options)}`;
  }
}
Object.defineProperty(FormData.prototype, Symbol.iterator, { value: FormData.prototype.entries, writable: true, configurable: true });
exposed(FormData.prototype, ['append', 'delete', 'get', 'getAll', 'has', 'set', 'forEach', 'keys', 'values', 'entries'], 'FormData');
