// node:path/win32: paths as Windows spells them, worked out without a Windows.

import process from '../process.js';
import { validateString } from '../../internal/validators.js';
import { collapse, extension, formatWith, matchGlob, withoutSuffix } from './shared.js';

const sep = '\\';
const SEPARATORS = /[\\/]/;
// Device names that Windows reserves; `CON:` is no drive.
const RESERVED = new Set(['CON', 'PRN', 'AUX', 'NUL', ...[...'123456789\xb9\xb2\xb3'].flatMap((n) => [`COM${n}`, `LPT${n}`])]);

const isSeparator = (char) => char === '\\' || char === '/';
const isLetter = (char) => (char >= 'a' && char <= 'z') || (char >= 'A' && char <= 'Z');

function isReserved(path, colon) {
  return RESERVED.has(path.slice(0, colon).toUpperCase());
}

/**
 * The root of a path: `device` (`C:`, `\\server\share`), how many characters it takes, and whether it is absolute.
 * `verbatim` devices are `\\.\` and `\\?\`, which take only their first name.
 */
function rootOf(path) {
  const length = path.length;
  if (isSeparator(path[0])) {
    if (!isSeparator(path[1])) return { device: '', end: 1, absolute: true };
    const server = nameFrom(path, 2);
    const gap = skipSeparators(path, server.end);
    if (server.text === '' || gap === server.end || server.end >= length) return { device: '', end: 1, absolute: true };
    const share = nameFrom(path, gap);
    if (server.text === '.' || server.text === '?') {
      return { device: `\\\\${server.text}`, end: 4, absolute: true, verbatim: true };
    }
    if (share.text === '') return { device: '', end: 1, absolute: true };
    return { device: `\\\\${server.text}\\${share.text}`, end: share.end, absolute: true, unc: true, whole: share.end === length };
  }
  if (length > 1 && isLetter(path[0]) && path[1] === ':') {
    const absolute = length > 2 && isSeparator(path[2]);
    return { device: path.slice(0, 2), end: absolute ? 3 : 2, absolute };
  }
  return { device: '', end: 0, absolute: false };
}

function nameFrom(path, start) {
  let end = start;
  while (end < path.length && !isSeparator(path[end])) end++;
  return { text: path.slice(start, end), end };
}

function skipSeparators(path, start) {
  let end = start;
  while (end < path.length && isSeparator(path[end])) end++;
  return end;
}

function resolve(...paths) {
  let device = '';
  let tail = '';
  let absolute = false;
  for (let index = paths.length - 1; index >= -1; index--) {
    let path;
    if (index >= 0) {
      path = paths[index];
      validateString(path, `paths[${index}]`);
      if (path === '') continue;
    } else if (device === '') {
      path = process.cwd();
    } else {
      // Each drive has its own current directory, kept in a variable named `=C:`; without one it is the root.
      path = process.env[`=${device}`] || process.cwd();
      if (path.slice(0, 2).toLowerCase() !== device.toLowerCase() && path[2] === '\\') path = `${device}\\`;
    }
    const root = rootOf(path);
    if (root.device !== '') {
      if (device !== '' && root.device.toLowerCase() !== device.toLowerCase()) continue;
      if (device === '') device = root.device;
    }
    if (!absolute) {
      tail = `${path.slice(root.end)}\\${tail}`;
      absolute = root.absolute;
    }
    if (absolute && device !== '') break;
  }
  const joined = collapse(tail.split(SEPARATORS), !absolute).join(sep);
  return absolute ? `${device}\\${joined}` : `${device}${joined}` || '.';
}

function normalize(path) {
  validateString(path, 'path');
  if (path === '') return '.';
  if (path.length === 1) return isSeparator(path) ? sep : path;
  const root = rootOf(path);
  if (root.unc && root.whole) return `${root.device}\\`;
  let { device } = root;
  let { end } = root;
  const colon = path.indexOf(':');
  if (root.device === '' && !root.absolute && colon > 0 && isReserved(path, colon)) {
    device = path.slice(0, colon + 1);
    end = colon + 1;
  }
  const { absolute } = root;
  let tail = collapse(path.slice(end).split(SEPARATORS), !absolute).join(sep);
  if (tail === '' && !absolute) tail = '.';
  if (tail !== '' && isSeparator(path[path.length - 1])) tail += sep;
  if (!absolute && device === '' && path.includes(':')) {
    // What was no drive letter must not become one: `./c:x` stays apart from `c:x`.
    if (tail.length >= 2 && isLetter(tail[0]) && tail[1] === ':') return `.\\${tail}`;
    for (let at = path.indexOf(':'); at !== -1; at = path.indexOf(':', at + 1)) {
      if (at === path.length - 1 || isSeparator(path[at + 1])) return `.\\${tail}`;
    }
  }
  if (isReserved(path, colon)) return `.\\${device}${tail}`;
  return absolute ? `${device}\\${tail}` : `${device}${tail}`;
}

function isAbsolute(path) {
  validateString(path, 'path');
  return isSeparator(path[0]) || (path.length > 2 && isLetter(path[0]) && path[1] === ':' && isSeparator(path[2]));
}

function join(...paths) {
  const parts = [];
  for (const path of paths) {
    validateString(path, 'path');
    if (path !== '') parts.push(path);
  }
  if (parts.length === 0) return '.';
  let joined = parts.join(sep);
  const first = parts[0];
  // `\\server` may open a network path only if the first part itself says so.
  let slashes = 0;
  if (isSeparator(first[0])) {
    slashes = 1;
    if (first.length > 1 && isSeparator(first[1])) {
      slashes = 2;
      if (first.length > 2) slashes = isSeparator(first[2]) ? 3 : 0;
    }
  }
  const keepsUnc = isSeparator(first[0]) && slashes === 0;
  if (!keepsUnc) {
    const rest = skipSeparators(joined, slashes);
    if (rest >= 2) joined = `\\${joined.slice(rest)}`;
  }
  const safe = protectReserved(joined);
  return safe ?? normalize(joined);
}

/** Paths with a reserved name and a colon inside are kept as they are, with their slashes turned. */
function protectReserved(joined) {
  const segments = joined.split(SEPARATORS).filter((segment) => segment !== '');
  for (const segment of segments) {
    const colon = segment.indexOf(':');
    if (colon > 0 && isReserved(segment, colon)) return joined.replaceAll('/', sep);
  }
  return undefined;
}

function relative(from, to) {
  validateString(from, 'from');
  validateString(to, 'to');
  if (from === to) return '';
  const source = resolve(from);
  const target = resolve(to);
  if (source === target) return '';
  const trim = (path) => path.replace(/^\\+/, '').replace(/\\+$/, '');
  const fromPath = trim(source);
  const toPath = trim(target);
  if (fromPath.toLowerCase() === toPath.toLowerCase()) return '';
  if (fromPath === '') return toPath;
  const up = fromPath.split(sep);
  if (toPath === '') return up.fill('..').join(sep);
  const down = toPath.split(sep);
  let same = 0;
  while (same < up.length && same < down.length && up[same].toLowerCase() === down[same].toLowerCase()) same++;
  if (same === 0) return target;
  return [...up.slice(same).fill('..'), ...down.slice(same)].join(sep);
}

function toNamespacedPath(path) {
  if (typeof path !== 'string' || path === '') return path;
  const resolved = resolve(path);
  if (resolved.length <= 2) return path;
  if (resolved.startsWith('\\\\')) {
    if (resolved[2] !== '?' && resolved[2] !== '.') return `\\\\?\\UNC\\${resolved.slice(2)}`;
  } else if (isLetter(resolved[0]) && resolved[1] === ':' && resolved[2] === '\\') {
    return `\\\\?\\${resolved}`;
  }
  return resolved;
}

/** The root for dirname and parse: like `rootOf`, but `\\server\share\` takes its slash in. */
function rootLength(path) {
  const root = rootOf(path);
  if (root.unc && !root.whole) return root.end + 1;
  if (root.verbatim) {
    const share = nameFrom(path, skipSeparators(path, 3));
    if (share.text === '') return 1;
    return share.end === path.length ? share.end : share.end + 1;
  }
  return root.end;
}

/** Where the last name begins and ends, at or after `root`. */
function lastName(path, root) {
  let end = path.length;
  while (end > root && isSeparator(path[end - 1])) end--;
  let start = end;
  while (start > root && !isSeparator(path[start - 1])) start--;
  return { start, end };
}

function dirname(path) {
  validateString(path, 'path');
  if (path === '') return '.';
  if (path.length === 1) return isSeparator(path) ? path : '.';
  const root = rootLength(path);
  const whole = rootOf(path);
  if (whole.unc && whole.whole) return path;
  const { start } = lastName(path, root);
  if (start > root) return path.slice(0, start - 1);
  return root === 0 ? '.' : path.slice(0, root);
}

function basename(path, suffix) {
  if (suffix !== undefined) validateString(suffix, 'suffix');
  validateString(path, 'path');
  if (suffix === path) return '';
  const drive = path.length >= 2 && isLetter(path[0]) && path[1] === ':' ? 2 : 0;
  const { start, end } = lastName(path, drive);
  return withoutSuffix(path.slice(start, end), suffix);
}

function extname(path) {
  validateString(path, 'path');
  const drive = path.length >= 2 && isLetter(path[0]) && path[1] === ':' ? 2 : 0;
  const { start, end } = lastName(path, drive);
  return extension(path.slice(start, end));
}

function format(pathObject) {
  return formatWith(sep, pathObject);
}

function parse(path) {
  validateString(path, 'path');
  const result = { root: '', dir: '', base: '', ext: '', name: '' };
  if (path === '') return result;
  if (path.length === 1) {
    if (isSeparator(path)) result.root = result.dir = path;
    else result.base = result.name = path;
    return result;
  }
  const length = rootLength(path);
  result.root = path.slice(0, length);
  const { start, end } = lastName(path, length);
  result.base = path.slice(start, end);
  result.ext = extension(result.base);
  result.name = result.base.slice(0, result.base.length - result.ext.length);
  result.dir = start > length ? path.slice(0, start - 1) : result.root;
  return result;
}

function matchesGlob(path, pattern) {
  return matchGlob(path, pattern, 'win32');
}

const win32 = {
  resolve,
  normalize,
  isAbsolute,
  join,
  relative,
  toNamespacedPath,
  dirname,
  basename,
  extname,
  format,
  parse,
  matchesGlob,
  sep,
  delimiter: ';',
  win32: null,
  posix: null,
  _makeLong: toNamespacedPath,
};

export default win32;
