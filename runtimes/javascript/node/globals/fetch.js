// Request and Response as values; fetch itself needs a grant, and none is given to this runtime.

import { binding } from '../internal/binding.js';
import { accessDenied } from '../internal/errors.js';
import { URL } from '../modules/url/whatwg.js';
import { URLSearchParams } from '../modules/url/search_params.js';
import { classOf } from '../modules/util/types.js';
import { inspect } from '../modules/util/inspect.js';
import { randomUUID } from '../modules/crypto/random.js';
import { AbortSignal } from './abort.js';
import { Blob } from './blob.js';
import { exposed } from './event_target.js';
import { FormData, Headers } from './headers.js';
import { ReadableStream } from './streams.js';
import { netGrant } from '../modules/refused.js';

/** The body as bytes or stream, and the content type it implies. */
function extract(body) {
  if (body == null) return { source: null, type: null };
  if (body instanceof ReadableStream) return { stream: body, type: null };
  if (body instanceof Blob) return { source: body, type: body.type || null };
  if (body instanceof FormData) return multipart(body);
  if (body instanceof URLSearchParams) return { source: new Blob([`${body}`]), type: 'application/x-www-form-urlencoded;charset=UTF-8' };
  if (ArrayBuffer.isView(body) || ['ArrayBuffer', 'SharedArrayBuffer'].includes(classOf(body))) return { source: new Blob([body]), type: null };
  return { source: new Blob([`${body}`]), type: 'text/plain;charset=UTF-8' };
}

const escapeName = (name) => name.replace(/\r?\n|\r/g, '%0D%0A').replaceAll('"', '%22');

function multipart(form) {
  const boundary = `----formdata-${randomUUID().replaceAll('-', '')}`;
  const parts = [];
  for (const [name, value] of form) {
    parts.push(`--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(name)}"`);
    if (typeof value === 'string') parts.push(`\r\n\r\n${value.replace(/\r?\n|\r/g, '\r\n')}\r\n`);
    else parts.push(`; filename="${escapeName(value.name)}"\r\nContent-Type: ${value.type || 'application/octet-stream'}\r\n\r\n`, value, '\r\n');
  }
  parts.push(`--${boundary}--\r\n`);
  return { source: new Blob(parts), type: `multipart/form-data; boundary=${boundary}` };
}

class Body {
  #body;
  #used = false;
  #stream;

  constructor(body) {
    this.#body = body;
    this.#stream = body.stream;
  }

  static {
    this.copy = (from) => {
      if (from.bodyUsed) throw new TypeError(`${from.constructor.name}.clone: Body has already been consumed.`);
      if (!from.#stream) return { ...from.#body };
      const [left, right] = from.#stream.tee();
      from.#stream = left;
      return { stream: right, type: from.#body.type };
    };
  }

  get body() {
    if (this.#body.source === null) return null;
    return (this.#stream ??= this.#body.source.stream());
  }

  get bodyUsed() {
    return this.#used || Boolean(this.#stream?._disturbed);
  }

  async #blob() {
    if (this.bodyUsed || this.#stream?.locked) throw new TypeError('Body is unusable: Body has already been read');
    if (this.#body.source === null) return new Blob([]);
    this.#used = true;
    if (!this.#stream) return this.#body.source;
    const chunks = [];
    for await (const chunk of this.#stream) chunks.push(chunk);
    return new Blob(chunks);
  }

  async arrayBuffer() {
    return (await this.#blob()).arrayBuffer();
  }

  async blob() {
    return new Blob([await this.#blob()], { type: this.headers.get('content-type') ?? '' });
  }

  async bytes() {
    return (await this.#blob()).bytes();
  }

  async formData() {
    const type = this.headers.get('content-type') ?? '';
    if (!type.startsWith('application/x-www-form-urlencoded')) throw new TypeError('Could not parse content as FormData.');
    const form = new FormData();
    for (const [name, value] of new URLSearchParams(await this.text())) form.append(name, value);
    return form;
  }

  async json() {
    return JSON.parse(await this.text());
  }

  async text() {
    return (await this.#blob()).text();
  }
}
const { copy } = Body;
delete Body.copy;
const BODY_NAMES = ['body', 'bodyUsed', 'arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text'];

/** Puts the methods of a body on a class itself, where Node has them. */
function withBody(Class, names) {
  for (const name of BODY_NAMES)
    Object.defineProperty(Class.prototype, name, { ...Object.getOwnPropertyDescriptor(Body.prototype, name), enumerable: true });
  exposed(Class.prototype, names, Class.name);
}

export class Response extends Body {
  #status;
  #statusText;
  #headers;
  #type = 'default';

  constructor(body = null, init = {}) {
    const content = extract(body);
    super(content);
    const status = init?.status ?? 200;
    if (!Number.isInteger(+status) || status < 200 || status > 599) {
      throw new RangeError('init["status"] must be in the range of 200 to 599, inclusive.');
    }
    if (body != null && [204, 205, 304].includes(+status)) throw new TypeError(`Response constructor: Invalid response status code ${status}`);
    this.#status = +status;
    this.#statusText = init?.statusText === undefined ? '' : `${init.statusText}`;
    this.#headers = new Headers(init?.headers);
    if (content.type && !this.#headers.has('content-type')) this.#headers.set('content-type', content.type);
  }

  static error() {
    const response = new Response();
    response.#type = 'error';
    response.#status = 0;
    return response;
  }

  static json(data, init = {}) {
    const text = JSON.stringify(data);
    if (text === undefined) throw new TypeError('Value is not JSON serializable');
    const response = new Response(text, init);
    if (!new Headers(init?.headers).has('content-type')) response.#headers.set('content-type', 'application/json');
    return response;
  }

  static redirect(url, status = 302) {
    const target = new URL(`${url}`).href;
    if (![301, 302, 303, 307, 308].includes(status)) throw new RangeError(`Invalid status code ${status}`);
    const response = new Response(null, {});
    response.#status = status;
    response.#headers.set('location', target);
    return response;
  }

  get type() {
    return this.#type;
  }

  get url() {
    return '';
  }

  get redirected() {
    return false;
  }

  get status() {
    return this.#status;
  }

  get ok() {
    return this.#status >= 200 && this.#status <= 299;
  }

  get statusText() {
    return this.#statusText;
  }

  get headers() {
    return this.#headers;
  }

  clone() {
    const content = copy(this);
    const made = new Response(content.stream ?? content.source, { statusText: this.#statusText, headers: this.#headers });
    made.#status = this.#status;
    made.#type = this.#type;
    return made;
  }

  [inspect.custom](depth, options) {
    const { status, statusText, headers, body, bodyUsed, ok, redirected, type, url } = this;
    return `Response ${inspect({ status, statusText, headers, body, bodyUsed, ok, redirected, type, url }, options)}`;
  }
}

withBody(Response, ['type', 'url', 'redirected', 'status', 'ok', 'statusText', 'headers', 'clone']);

const METHODS = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT'];

export class Request extends Body {
  #url;
  #method;
  #headers;
  #signal;
  #options;

  constructor(input, init = {}) {
    const from = input instanceof Request ? input : undefined;
    const given = init?.body ?? null;
    const method = `${init?.method ?? from?.method ?? 'GET'}`;
    const upper = METHODS.includes(method.toUpperCase()) ? method.toUpperCase() : method;
    if (!/^[!#$%&'*+\-.^_`|~A-Za-z0-9]+$/.test(method)) throw new TypeError(`'${method}' is not a valid HTTP method.`);
    if (given !== null && (upper === 'GET' || upper === 'HEAD')) throw new TypeError('Request with GET/HEAD method cannot have body.');
    const content = given !== null ? extract(given) : from ? copy(from) : { source: null, type: null };
    super(content);
    const text = from ? from.url : `${input}`;
    let url;
    try {
      url = new URL(text);
    } catch (cause) {
      throw new TypeError(`Failed to parse URL from ${text}`, { cause });
    }
    if (url.username || url.password) throw new TypeError(`Request cannot be constructed from a URL that includes credentials: ${text}`);
    this.#url = url.href;
    this.#method = upper;
    this.#headers = new Headers(init?.headers ?? from?.headers);
    if (content.type && !this.#headers.has('content-type')) this.#headers.set('content-type', content.type);
    this.#signal = init?.signal ?? from?.signal ?? AbortSignal.any([]);
    this.#options = { ...init };
  }

  get method() {
    return this.#method;
  }

  get url() {
    return this.#url;
  }

  get headers() {
    return this.#headers;
  }

  get destination() {
    return '';
  }

  get referrer() {
    return this.#options.referrer ?? 'about:client';
  }

  get referrerPolicy() {
    return this.#options.referrerPolicy ?? '';
  }

  get mode() {
    return this.#options.mode ?? 'cors';
  }

  get credentials() {
    return this.#options.credentials ?? 'same-origin';
  }

  get cache() {
    return this.#options.cache ?? 'default';
  }

  get redirect() {
    return this.#options.redirect ?? 'follow';
  }

  get integrity() {
    return this.#options.integrity ?? '';
  }

  get keepalive() {
    return Boolean(this.#options.keepalive);
  }

  get signal() {
    return this.#signal;
  }

  get duplex() {
    return 'half';
  }

  clone() {
    return new Request(this);
  }

  [inspect.custom](depth, options) {
    const { method, url, headers, destination, referrer, referrerPolicy, mode, credentials, cache, redirect, integrity, keepalive, signal } = this;
    return `Request ${inspect({ method, url, headers, destination, referrer, referrerPolicy, mode, credentials, cache, redirect, integrity, keepalive, isReloadNavigation: false, isHistoryNavigation: false, signal }, options)}`;
  }
}
withBody(Request, [
  'method',
  'url',
  'headers',
  'destination',
  'referrer',
  'referrerPolicy',
  'mode',
  'credentials',
  'cache',
  'redirect',
  'integrity',
  'keepalive',
  'signal',
  'duplex',
  'clone',
]);

/** `data:` and `blob:` need no network. */
async function withoutNetwork(url) {
  const match = /^data:([^,]*?)(;base64)?,(.*)$/s.exec(url);
  if (!match) return undefined;
  const [, type, base64, text] = match;
  const raw = decodeURIComponent(text);
  const bytes = base64 ? Uint8Array.fromBase64(raw) : binding.utf8Encode(raw);
  return new Response(bytes, { headers: { 'content-type': type || 'text/plain;charset=US-ASCII' } });
}

export function fetch(input, init = undefined) {
  if (arguments.length === 0) return Promise.reject(new TypeError('fetch: 1 argument required, but only 0 present.'));
  return fetchAsync(input, init);
}

async function fetchAsync(input, init) {
  const request = new Request(input, init ?? {});
  request.signal.throwIfAborted();
  const url = new URL(request.url);
  if (url.protocol === 'data:') return withoutNetwork(request.url);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new TypeError('fetch failed', { cause: new Error('unknown scheme') });
  throw new TypeError('fetch failed', { cause: accessDenied('fetch', netGrant(url.href)) });
}
