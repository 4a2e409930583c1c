// File URLs and paths, for names of modules. Modules that are no CommonJS have URLs as names, as in Node's stacks.

import { invalidArgValue, nodeError } from '../errors.js';

// What `pathToFileURL` encodes, beside what is not ASCII.
const UNSAFE = /[%\\\n\r\t?#\x00-\x20"<>^`{|}~\x7f-\uffff]/;
const KEPT = /[^A-Za-z0-9\-_.!~*'();/:@&=+$,[\]|^]/gu;

/** The `file:` URL of an absolute path. */
export function urlOf(path) {
  if (!UNSAFE.test(path)) return `file://${path}`;
  return `file://${path.replace(/%/g, '%25').toWellFormed().replace(KEPT, (c) => (c === '%' ? c : encodeURIComponent(c)))}`;
}

/** The path of a `file:` URL, and what follows `?` or `#`. */
export function splitUrl(url) {
  const end = url.search(/[?#]/);
  const suffix = end < 0 ? '' : url.slice(end);
  const location = end < 0 ? url : url.slice(0, end);
  let path = location.startsWith('file://') ? location.slice(7) : location.slice(5);
  if (!path.startsWith('/')) {
    const host = path.slice(0, path.indexOf('/'));
    if (host !== 'localhost') throw nodeError(TypeError, 'ERR_INVALID_FILE_URL_HOST', 'File URL host must be "localhost" or empty on linux');
    path = path.slice(host.length);
  }
  if (/%2f/i.test(path)) {
    throw nodeError(TypeError, 'ERR_INVALID_FILE_URL_PATH', 'File URL path must not include encoded / characters');
  }
  return { path: decodeURIComponent(path), suffix };
}

/** Files have no NUL in their names: refused in the words of `fs`. */
export function checkNul(path) {
  if (path.includes('\0')) throw invalidArgValue('path', path, 'must be a string, Uint8Array, or URL without null bytes');
}

/** The path that stack frames and `import` know a module by: a path as it is, or that of a URL. */
export function pathOf(name) {
  return name.startsWith('file:') ? splitUrl(name).path : name;
}
