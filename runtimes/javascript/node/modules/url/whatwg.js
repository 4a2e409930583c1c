// The class URL, around the parser of the WHATWG standard.

import '../../globals/early.js';
import machine from 'whatwg-url/lib/url-state-machine.js';
import { invalidThis, missingArgs, nodeError } from '../../internal/errors.js';
import { createObjectURL, revokeObjectURL } from '../../globals/blob.js';
import { exposed } from '../../globals/event_target.js';
import { randomUUID } from '../crypto/random.js';
import { inspect } from '../util/inspect.js';
import { internals, URLSearchParams } from './search_params.js';

export function invalidUrl(input, base) {
  const properties = base === undefined ? { input } : { input, base };
  return nodeError(TypeError, 'ERR_INVALID_URL', 'Invalid URL', properties);
}

// Addresses that are written as the parser would leave them: no escapes to make, no dots to resolve, no odd hosts.
const PLAIN =
  /^(https?|file):\/\/([a-z][a-z0-9-]*(?:\.[a-z0-9-]+)*\.[a-z]{2,}|localhost|)(?::(\d{1,4}))?((?:\/[\w\-.~!$&'()*+,;=:@%]*)*)(\?[\w\-.~!$&()*+,;=:@%/?]*)?(#[\w\-.~!$&'()*+,;=:@%/?]*)?$/;
const NOT_PLAIN = /\/\.|xn--|%2e|\/[a-z][:|](?:\/|$)/i;
const DEFAULT_PORTS = { http: 80, https: 443 };

/** The record of a plain address, by one look instead of the parser's walk from character to character. */
function plainRecord(input) {
  if (input.length > 2000) return undefined;
  const match = PLAIN.exec(input);
  if (match === null || NOT_PLAIN.test(input)) return undefined;
  const [, scheme, host, port, path, query, fragment] = match;
  if ((scheme === 'file') !== (host === '') || (scheme === 'file' && (path === '' || port !== undefined))) return undefined;
  const number = port === undefined || +port === DEFAULT_PORTS[scheme] ? null : +port;
  return {
    scheme,
    username: '',
    password: '',
    host,
    port: number,
    path: path === '' ? [''] : path.slice(1).split('/'),
    query: query === undefined ? null : query.slice(1),
    fragment: fragment === undefined ? null : fragment.slice(1),
  };
}

/** The parsed record, or `undefined`. */
function parseRecord(input, base) {
  const plain = plainRecord(input);
  if (plain !== undefined && (base === undefined || plainRecord(base) !== undefined)) return plain;
  let baseURL = null;
  if (base !== undefined) {
    baseURL = machine.parseURL(base);
    if (baseURL === null) return undefined;
  }
  return machine.basicURLParse(input, { baseURL }) ?? undefined;
}

const kRecord = Symbol('record');

export class URL {
  #record;
  #params;

  constructor(input, base = undefined) {
    if (arguments.length === 0) throw missingArgs('url');
    if (input?.[kRecord]) {
      this.#record = input[kRecord];
      return;
    }
    input = `${input}`;
    if (base !== undefined) base = `${base}`;
    this.#record = parseRecord(input, base);
    if (this.#record === undefined) throw invalidUrl(input, base);
  }

  static canParse(url, base = undefined) {
    if (arguments.length === 0) throw missingArgs('url');
    return parseRecord(`${url}`, base === undefined ? undefined : `${base}`) !== undefined;
  }

  static parse(input, base = undefined) {
    if (arguments.length === 0) throw missingArgs('url');
    const record = parseRecord(`${input}`, base === undefined ? undefined : `${base}`);
    return record === undefined ? null : new URL({ [kRecord]: record });
  }

  static createObjectURL(obj) {
    if (arguments.length === 0) throw missingArgs('obj');
    return createObjectURL(obj, randomUUID);
  }

  static revokeObjectURL(url) {
    if (arguments.length === 0) throw missingArgs('url');
    revokeObjectURL(url);
  }

  static {
    this.isURL = (value) => typeof value === 'object' && value !== null && #record in value;
  }

  static #check(value) {
    if (typeof value !== 'object' || value === null || !(#record in value)) throw invalidThis('URL');
  }

  #reparse(input, stateOverride) {
    machine.basicURLParse(input, { url: this.#record, stateOverride });
  }

  get href() {
    URL.#check(this);
    return machine.serializeURL(this.#record);
  }

  set href(value) {
    URL.#check(this);
    value = `${value}`;
    const record = parseRecord(value);
    if (record === undefined) throw invalidUrl(value);
    this.#record = record;
    if (this.#params) internals.replace(this.#params, record.query ?? '');
  }

  get origin() {
    URL.#check(this);
    return machine.serializeURLOrigin(this.#record);
  }

  get protocol() {
    URL.#check(this);
    return `${this.#record.scheme}:`;
  }

  set protocol(value) {
    URL.#check(this);
    this.#reparse(`${value}:`, 'scheme start');
  }

  get username() {
    URL.#check(this);
    return this.#record.username;
  }

  set username(value) {
    URL.#check(this);
    if (!machine.cannotHaveAUsernamePasswordPort(this.#record)) machine.setTheUsername(this.#record, `${value}`);
  }

  get password() {
    URL.#check(this);
    return this.#record.password;
  }

  set password(value) {
    URL.#check(this);
    if (!machine.cannotHaveAUsernamePasswordPort(this.#record)) machine.setThePassword(this.#record, `${value}`);
  }

  get host() {
    URL.#check(this);
    const { host, port } = this.#record;
    if (host === null) return '';
    return port === null ? machine.serializeHost(host) : `${machine.serializeHost(host)}:${port}`;
  }

  set host(value) {
    URL.#check(this);
    if (!machine.hasAnOpaquePath(this.#record)) this.#reparse(`${value}`, 'host');
  }

  get hostname() {
    URL.#check(this);
    return this.#record.host === null ? '' : machine.serializeHost(this.#record.host);
  }

  set hostname(value) {
    URL.#check(this);
    if (!machine.hasAnOpaquePath(this.#record)) this.#reparse(`${value}`, 'hostname');
  }

  get port() {
    URL.#check(this);
    return this.#record.port === null ? '' : `${this.#record.port}`;
  }

  set port(value) {
    URL.#check(this);
    if (machine.cannotHaveAUsernamePasswordPort(this.#record)) return;
    value = `${value}`;
    if (value === '') this.#record.port = null;
    else this.#reparse(value, 'port');
  }

  get pathname() {
    URL.#check(this);
    return machine.serializePath(this.#record);
  }

  set pathname(value) {
    URL.#check(this);
    if (machine.hasAnOpaquePath(this.#record)) return;
    this.#record.path = [];
    this.#reparse(`${value}`, 'path start');
  }

  get search() {
    URL.#check(this);
    return this.#record.query ? `?${this.#record.query}` : '';
  }

  set search(value) {
    URL.#check(this);
    value = `${value}`;
    if (value === '') {
      this.#record.query = null;
    } else {
      this.#record.query = '';
      this.#reparse(value[0] === '?' ? value.slice(1) : value, 'query');
    }
    if (this.#params) internals.replace(this.#params, this.#record.query ?? '');
  }

  get searchParams() {
    URL.#check(this);
    if (!this.#params) {
      this.#params = new URLSearchParams();
      internals.replace(this.#params, this.#record.query ?? '');
      internals.watch(this.#params, () => {
        const query = this.#params.toString();
        this.#record.query = query === '' ? null : query;
      });
    }
    return this.#params;
  }

  get hash() {
    URL.#check(this);
    return this.#record.fragment ? `#${this.#record.fragment}` : '';
  }

  set hash(value) {
    URL.#check(this);
    value = `${value}`;
    if (value === '') {
      this.#record.fragment = null;
      return;
    }
    this.#record.fragment = '';
    this.#reparse(value[0] === '#' ? value.slice(1) : value, 'fragment');
  }

  toString() {
    return this.href;
  }

  toJSON() {
    return this.href;
  }

  [inspect.custom](depth, options) {
    URL.#check(this);
    if (typeof depth === 'number' && depth < 0) return this;
    const { constructor } = this;
    const shown = { __proto__: { constructor } };
    for (const key of SHOWN) shown[key] = this[key];
    return `${constructor.name} ${inspect(shown, options)}`.replace(`${constructor.name} ${constructor.name}`, constructor.name);
  }
}

const SHOWN = ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'searchParams', 'hash'];

export const { isURL } = URL;
delete URL.isURL;
exposed(
  URL.prototype,
  [
    'href',
    'origin',
    'protocol',
    'username',
    'password',
    'host',
    'hostname',
    'port',
    'pathname',
    'search',
    'searchParams',
    'hash',
    'toString',
    'toJSON',
  ],
  'URL',
);
for (const name of ['canParse', 'parse', 'createObjectURL', 'revokeObjectURL']) Object.defineProperty(URL, name, { enumerable: true });

export { machine };
