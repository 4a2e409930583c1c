// node:path/posix.

import process from '../process.js';
import { validateString } from '../../internal/validators.js';
import { collapse, extension, formatWith, matchGlob, withoutSuffix } from './shared.js';

const sep = '/';

function resolve(...paths) {
  let resolved = '';
  let absolute = false;
  for (let index = paths.length - 1; index >= 0 && !absolute; index--) {
    const path = paths[index];
    validateString(path, `paths[${index}]`);
    if (path === '') continue;
    resolved = `${path}/${resolved}`;
    absolute = path[0] === sep;
  }
  if (!absolute) {
    const cwd = process.cwd();
    resolved = `${cwd}/${resolved}`;
    absolute = cwd[0] === sep;
  }
  const joined = collapse(resolved.split(sep), !absolute).join(sep);
  return absolute ? `/${joined}` : joined || '.';
}

function normalize(path) {
  validateString(path, 'path');
  if (path === '') return '.';
  const absolute = path[0] === sep;
  const trailing = path.endsWith(sep);
  const joined = collapse(path.split(sep), !absolute).join(sep);
  if (joined === '') return absolute ? sep : trailing ? './' : '.';
  return `${absolute ? sep : ''}${joined}${trailing ? sep : ''}`;
}

function isAbsolute(path) {
  validateString(path, 'path');
  return path[0] === sep;
}

function join(...paths) {
  const parts = [];
  for (const path of paths) {
    validateString(path, 'path');
    if (path !== '') parts.push(path);
  }
  return parts.length === 0 ? '.' : normalize(parts.join(sep));
}

function relative(from, to) {
  validateString(from, 'from');
  validateString(to, 'to');
  if (from === to) return '';
  const source = resolve(from);
  const target = resolve(to);
  if (source === target) return '';
  const up = source === sep ? [] : source.slice(1).split(sep);
  const down = target === sep ? [] : target.slice(1).split(sep);
  let same = 0;
  while (same < up.length && same < down.length && up[same] === down[same]) same++;
  return [...up.slice(same).fill('..'), ...down.slice(same)].join(sep);
}

function toNamespacedPath(path) {
  return path;
}

/** The path without the slashes it ends with; `/` alone stays. */
function untrailed(path) {
  let end = path.length;
  while (end > 1 && path[end - 1] === sep) end--;
  return path.slice(0, end);
}

function dirname(path) {
  validateString(path, 'path');
  if (path === '') return '.';
  const plain = untrailed(path);
  const slash = plain.lastIndexOf(sep);
  if (slash === -1) return '.';
  if (slash === 0) return sep;
  // Only one of the slashes before the last name goes, so `//a` has the directory `//`.
  if (slash === 1 && plain[0] === sep) return '//';
  return plain.slice(0, slash);
}

function basename(path, suffix) {
  if (suffix !== undefined) validateString(suffix, 'suffix');
  validateString(path, 'path');
  if (suffix === path) return '';
  const plain = untrailed(path);
  if (plain === sep) return '';
  return withoutSuffix(plain.slice(plain.lastIndexOf(sep) + 1), suffix);
}

function extname(path) {
  validateString(path, 'path');
  const plain = untrailed(path);
  return extension(plain.slice(plain.lastIndexOf(sep) + 1));
}

function format(pathObject) {
  return formatWith(sep, pathObject);
}

function parse(path) {
  validateString(path, 'path');
  const result = { root: '', dir: '', base: '', ext: '', name: '' };
  if (path === '') return result;
  const absolute = path[0] === sep;
  if (absolute) result.root = sep;
  const plain = untrailed(path);
  if (plain === sep) {
    result.dir = sep;
    return result;
  }
  const slash = plain.lastIndexOf(sep);
  result.base = plain.slice(slash + 1);
  result.ext = extension(result.base);
  result.name = result.base.slice(0, result.base.length - result.ext.length);
  if (slash > 0) result.dir = plain.slice(0, slash);
  else if (absolute) result.dir = sep;
  return result;
}

function matchesGlob(path, pattern) {
  return matchGlob(path, pattern, 'linux');
}

const posix = {
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
  delimiter: ':',
  win32: null,
  posix: null,
  _makeLong: toNamespacedPath,
};

export default posix;
