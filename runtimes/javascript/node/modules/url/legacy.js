// url.parse, url.format and url.resolve: URLs as Node read them before the standard.

import { invalidArgType } from '../../internal/errors.js';
import { validateObject, validateString } from '../../internal/validators.js';
import process from '../process.js';
import querystring from '../querystring.js';
import { toASCII, toUnicode } from './domains.js';
import { resolvePath } from './legacy_resolve.js';
import { URL, invalidUrl } from './whatwg.js';

// Protocols without a host, and those that always have `//` before it.
const HOSTLESS = new Set(['javascript', 'javascript:']);
export const SLASHED = new Set(['http', 'http:', 'https', 'https:', 'ftp', 'ftp:', 'gopher', 'gopher:', 'file', 'file:', 'ws', 'ws:', 'wss', 'wss:']);

const SIMPLE_PATH = /^(\/\/?(?!\/)[^?\s]*)(\?[^\s]*)?$/;
const USER_AT_HOST = /^\/\/[^@/]+@[^@/]+/;
const FORBIDDEN_IN_HOST = /[\0\t\n\r #%/:<>?@[\\\]^|]/;
const FORBIDDEN_IN_IPV6 = /[\0\t\n\r #%/<>?@\\^|]/;
const NEVER_IN_HOST = ' "%\';<>\\^`{|}';
const ESCAPED = /[\t\n\r "'<>\\^`{|}]/g;

const escape = (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
const isIpv6 = (hostname) => hostname.startsWith('[') && hostname.endsWith(']');

export function Url() {
  this.protocol = null;
  this.slashes = null;
  this.auth = null;
  this.host = null;
  this.port = null;
  this.hostname = null;
  this.hash = null;
  this.search = null;
  this.query = null;
  this.pathname = null;
  this.path = null;
  this.href = null;
}

let warned = false;

export function parse(url, parseQueryString, slashesDenoteHost) {
  if (!warned) {
    warned = true;
    process.emitWarning(
      '`url.parse()` behavior is not standardized and prone to errors that have security implications. ' +
        'Use the WHATWG URL API instead. CVEs are not issued for `url.parse()` vulnerabilities.',
      'DeprecationWarning',
      'DEP0169',
    );
  }
  return parseUrl(url, parseQueryString, slashesDenoteHost);
}

export function parseUrl(url, parseQueryString, slashesDenoteHost) {
  if (url instanceof Url) return url;
  return new Url().parse(url, parseQueryString, slashesDenoteHost);
}

/** The text without white space around it, with `/` for `\` up to the query. */
function cleaned(url) {
  const trimmed = url.replace(/^[\0-\x20\xa0\ufeff]+|[\0-\x20\xa0\ufeff]+$/g, '');
  const end = trimmed.search(/[?#]/);
  return end === -1 ? trimmed.replaceAll('\\', '/') : trimmed.slice(0, end).replaceAll('\\', '/') + trimmed.slice(end);
}

Url.prototype.parse = function (url, parseQueryString, slashesDenoteHost) {
  validateString(url, 'url');
  let rest = cleaned(url);
  const beforeQuery = /^[^?#]*/.exec(rest)[0];
  if (!slashesDenoteHost && !rest.includes('#') && !beforeQuery.includes('@')) {
    const simple = SIMPLE_PATH.exec(rest);
    if (simple) {
      this.path = this.href = rest;
      [, this.pathname] = simple;
      if (simple[2]) {
        [, , this.search] = simple;
        this.query = parseQueryString ? querystring.parse(this.search.slice(1)) : this.search.slice(1);
      } else if (parseQueryString) {
        this.search = null;
        this.query = { __proto__: null };
      }
      return this;
    }
  }
  const protocol = /^[a-z0-9.+-]+:/i.exec(rest)?.[0];
  const lower = protocol?.toLowerCase();
  if (protocol) {
    this.protocol = lower;
    rest = rest.slice(protocol.length);
  }
  let slashes = false;
  if (slashesDenoteHost || protocol || USER_AT_HOST.test(rest)) {
    slashes = rest.startsWith('//');
    if (slashes && !HOSTLESS.has(lower)) {
      rest = rest.slice(2);
      this.slashes = true;
    }
  }
  if (!HOSTLESS.has(lower) && (slashes || (protocol && !SLASHED.has(protocol)))) rest = takeHost(this, rest, url);
  if (!HOSTLESS.has(lower)) rest = rest.replace(ESCAPED, escape);
  const hash = rest.indexOf('#');
  if (hash !== -1) {
    this.hash = rest.slice(hash);
    rest = rest.slice(0, hash);
  }
  const question = rest.indexOf('?');
  if (question !== -1) {
    this.search = rest.slice(question);
    this.query = rest.slice(question + 1);
    if (parseQueryString) this.query = querystring.parse(this.query);
    rest = rest.slice(0, question);
  } else if (parseQueryString) {
    this.search = null;
    this.query = { __proto__: null };
  }
  if (rest !== '') this.pathname = rest;
  if (SLASHED.has(lower) && this.hostname && !this.pathname) this.pathname = '/';
  if (this.pathname || this.search) this.path = (this.pathname || '') + (this.search || '');
  this.href = this.format();
  return this;
};

/** Reads user, host and port from the start of `rest`; returns what comes after. */
function takeHost(target, rest, url) {
  let at = -1;
  let end = -1;
  for (let index = 0; index < rest.length; index++) {
    const char = rest[index];
    if (char === '\t' || char === '\n' || char === '\r') {
      rest = rest.slice(0, index) + rest.slice(index + 1);
      index--;
    } else if (char === '#' || char === '/' || char === '?') {
      if (end === -1) end = index;
      break;
    } else if (char === '@') {
      // Whatever came before belongs to the user.
      at = index;
      end = -1;
    } else if (NEVER_IN_HOST.includes(char) && end === -1) {
      end = index;
    }
  }
  if (at !== -1) target.auth = decodeURIComponent(rest.slice(0, at));
  target.host = end === -1 ? rest.slice(at + 1) : rest.slice(at + 1, end);
  rest = end === -1 ? '' : rest.slice(end);
  target.parseHost();
  target.hostname ??= '';
  const ipv6 = isIpv6(target.hostname);
  if (!ipv6 && FORBIDDEN_IN_HOST.test(target.hostname)) throw invalidUrl(url);
  target.hostname = target.hostname.length > 255 ? '' : target.hostname.toLowerCase();
  if (target.hostname !== '') {
    if (ipv6) {
      if (FORBIDDEN_IN_IPV6.test(target.hostname)) throw invalidUrl(url);
    } else {
      target.hostname = toASCII(target.hostname);
      if (target.hostname === '' || FORBIDDEN_IN_HOST.test(target.hostname)) throw invalidUrl(url);
    }
  }
  target.host = target.hostname + (target.port ? `:${target.port}` : '');
  if (ipv6) {
    target.hostname = target.hostname.slice(1, -1);
    if (rest[0] !== '/') rest = `/${rest}`;
  }
  return rest;
}

Url.prototype.parseHost = function () {
  let { host } = this;
  const port = /:[0-9]*$/.exec(host)?.[0];
  if (port) {
    if (port !== ':') this.port = port.slice(1);
    host = host.slice(0, host.length - port.length);
  }
  if (host) this.hostname = host;
};

const encodeAuth = (auth) => encodeURIComponent(auth).replaceAll('%3A', ':');

Url.prototype.format = function () {
  const auth = this.auth ? `${encodeAuth(this.auth)}@` : '';
  let protocol = this.protocol || '';
  if (protocol && !protocol.endsWith(':')) protocol += ':';
  let pathname = (this.pathname || '').replaceAll('#', '%23').replaceAll('?', '%3F');
  let hash = this.hash || '';
  let host = '';
  if (this.host) {
    host = auth + this.host;
  } else if (this.hostname) {
    host = auth + (this.hostname.includes(':') && !isIpv6(this.hostname) ? `[${this.hostname}]` : this.hostname);
    if (this.port) host += `:${this.port}`;
  }
  const query = this.query !== null && typeof this.query === 'object' ? querystring.stringify(this.query) : '';
  let search = (this.search || (query && `?${query}`) || '').replaceAll('#', '%23');
  if (this.slashes || SLASHED.has(protocol)) {
    if (this.slashes || host) {
      if (pathname && pathname[0] !== '/') pathname = `/${pathname}`;
      host = `//${host}`;
    } else if (protocol.startsWith('file')) {
      host = '//';
    }
  }
  if (hash && hash[0] !== '#') hash = `#${hash}`;
  if (search && search[0] !== '?') search = `?${search}`;
  return protocol + host + pathname + search + hash;
};

export function format(urlObject, options) {
  if (typeof urlObject === 'string') return parseUrl(urlObject).format();
  if (typeof urlObject !== 'object' || urlObject === null) throw invalidArgType('urlObject', ['Object', 'string'], urlObject);
  if (!(urlObject instanceof URL)) return Url.prototype.format.call(urlObject);
  if (options) validateObject(options, 'options');
  const { fragment = true, unicode = false, search = true, auth = true } = options ?? {};
  const copy = new URL(urlObject.href);
  if (!fragment) copy.hash = '';
  if (!search) copy.search = '';
  if (!auth) copy.username = copy.password = '';
  return unicode ? copy.href.replace(copy.hostname, toUnicode(copy.hostname)) : copy.href;
}

Url.prototype.resolve = function (relative) {
  return this.resolveObject(parseUrl(relative, false, true)).format();
};

Url.prototype.resolveObject = function (relative) {
  return resolvePath(this, typeof relative === 'string' ? new Url().parse(relative, false, true) : relative, new Url());
};

export function resolve(source, relative) {
  return parseUrl(source, false, true).resolve(relative);
}

export function resolveObject(source, relative) {
  if (!source) return relative;
  return parseUrl(source, false, true).resolveObject(relative);
}
