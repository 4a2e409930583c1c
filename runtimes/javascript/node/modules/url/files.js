// File paths as URLs and back.

import { invalidArgType, invalidArgValue, nodeError } from '../../internal/errors.js';
import { validateObject, validateString } from '../../internal/validators.js';
import { Buffer } from '../buffer/buffer.js';
import path from '../path.js';
import querystring from '../querystring.js';
import { isURL, URL } from './whatwg.js';

function fileUrl(value) {
  if (typeof value === 'string') value = new URL(value);
  else if (!isUrlLike(value)) throw invalidArgType('path', ['string', 'URL'], value);
  if (value.protocol !== 'file:') throw nodeError(TypeError, 'ERR_INVALID_URL_SCHEME', 'The URL must be of scheme file');
  return value;
}

/** Node takes anything that looks like a URL, so that URLs of other implementations pass. */
function isUrlLike(value) {
  return isURL(value) || Boolean(value?.href && value.protocol && value.auth === undefined && value.path === undefined);
}

const badPath = (reason, input) => nodeError(TypeError, 'ERR_INVALID_FILE_URL_PATH', `File URL path ${reason}`, { input });

function posixPath(url) {
  if (url.hostname !== '') throw nodeError(TypeError, 'ERR_INVALID_FILE_URL_HOST', 'File URL host must be "localhost" or empty on linux');
  const { pathname } = url;
  if (/%2f/i.test(pathname)) throw badPath('must not include encoded / characters', url);
  return pathname;
}

function windowsPath(url) {
  const { hostname } = url;
  let { pathname } = url;
  if (/%2f|%5c/i.test(pathname)) throw badPath('must not include encoded \\ or / characters', url);
  pathname = decodeURIComponent(pathname.replaceAll('/', '\\'));
  if (hostname !== '') return `\\\\${hostname}${pathname}`;
  if (!/^\\[a-z]:/i.test(pathname)) throw badPath('must be absolute', url);
  return pathname.slice(1);
}

export function fileURLToPath(value, options = {}) {
  const url = fileUrl(value);
  if (options?.windows) return windowsPath(url);
  const pathname = posixPath(url);
  return pathname.includes('%') ? decodeURIComponent(pathname) : pathname;
}

export function fileURLToPathBuffer(value, options = {}) {
  const url = fileUrl(value);
  return options?.windows ? Buffer.from(windowsPath(url)) : Buffer.from(querystring.unescapeBuffer(posixPath(url)));
}

// What may not stand in a path part of a URL, beyond what the URL parser encodes itself.
const encodePosix = (text) => text.replace(/[%\\\n\r\t?#]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);

export function pathToFileURL(filepath, options = {}) {
  validateString(filepath, 'path');
  if (options?.windows) return windowsToUrl(filepath);
  let resolved = path.posix.resolve(filepath);
  if (filepath.endsWith('/') && !resolved.endsWith('/')) resolved += '/';
  const url = new URL('file://');
  url.pathname = encodePosix(resolved);
  return url;
}

function windowsToUrl(filepath) {
  const encode = (text) => text.replaceAll('\\', '/').replace(/[%\n\r\t?#]/g, encodeURIComponent);
  const url = new URL('file://');
  if (filepath.startsWith('\\\\')) {
    const start = filepath.startsWith('\\\\?\\UNC\\') ? 8 : 2;
    const end = filepath.indexOf('\\', start);
    if (end === -1) throw invalidArgValue('path', filepath, 'Missing UNC resource path');
    if (end === 2) throw invalidArgValue('path', filepath, 'Empty UNC servername');
    url.hostname = filepath.slice(start, end);
    url.pathname = encode(filepath.slice(end));
    return url;
  }
  let resolved = path.win32.resolve(filepath);
  if (/[\\/]$/.test(filepath) && !resolved.endsWith('\\')) resolved += '\\';
  url.pathname = encode(resolved);
  return url;
}

export function urlToHttpOptions(url) {
  validateObject(url, 'url', { allowArray: true, allowFunction: true });
  const { hostname, pathname, port, username, password, search } = url;
  const options = {
    __proto__: null,
    ...url,
    protocol: url.protocol,
    hostname: hostname && hostname[0] === '[' ? hostname.slice(1, -1) : hostname,
    hash: url.hash,
    search,
    pathname,
    path: `${pathname || ''}${search || ''}`,
    href: url.href,
  };
  if (port !== '') options.port = Number(port);
  if (username || password) options.auth = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return options;
}
