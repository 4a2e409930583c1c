// package.json: finding it, and the targets of `exports` and `imports`.

import posix from '../../modules/path.js';
import { nodeError } from '../errors.js';
import { decode, isFile, readBytes } from './files.js';

const { dirname, resolve } = posix;
const { parse } = JSON;
const { apply } = Reflect;
const { get, set } = Map.prototype;
const { hasOwn, keys } = Object;

const known = new Map();

/** The package.json in `directory`, or null. */
export function packageIn(directory) {
  let found = apply(get, known, [directory]);
  if (found === undefined) {
    found = read(directory);
    apply(set, known, [directory, found]);
  }
  return found;
}

function read(directory) {
  const file = `${directory === '/' ? '' : directory}/package.json`;
  if (!isFile(file)) return null;
  let data;
  try {
    data = parse(decode(readBytes(file)));
  } catch (error) {
    throw nodeError(Error, 'ERR_INVALID_PACKAGE_CONFIG', `Invalid package config ${file}.${error instanceof SyntaxError ? ` ${error.message}` : ''}`);
  }
  if (data === null || typeof data !== 'object') data = {};
  return { directory, file, data };
}

/** The package that `file` belongs to, or null. */
export function packageOf(file) {
  for (let directory = dirname(resolve(file)); ; directory = dirname(directory)) {
    if (!directory.endsWith('/node_modules')) {
      const found = packageIn(directory);
      if (found) return found;
    }
    if (directory === '/') return null;
  }
}

/** `name` and `./rest` of a bare specifier. */
export function splitBare(specifier, base) {
  let slash = specifier.indexOf('/');
  let isValid = specifier.length > 0 && specifier[0] !== '.' && !specifier.includes('\\') && !specifier.includes('%');
  if (specifier[0] === '@') {
    if (slash < 0) isValid = false;
    else slash = specifier.indexOf('/', slash + 1);
  }
  if (!isValid) {
    throw nodeError(TypeError, 'ERR_INVALID_MODULE_SPECIFIER', `Invalid module "${specifier}" is not a valid package name imported from ${base}`);
  }
  const name = slash < 0 ? specifier : specifier.slice(0, slash);
  return { name, subpath: `.${slash < 0 ? '' : specifier.slice(slash)}` };
}

const INVALID = /(^|\\|\/)((\.|%2e)(\.|%2e)?|(n|%6e|%4e)(o|%6f|%4f)(d|%64|%44)(e|%65|%45)(_|%5f)(m|%6d|%4d)(o|%6f|%4f)(d|%64|%44)(u|%75|%55)(l|%6c|%4c)(e|%65|%45)(s|%73|%53))(\\|\/|$)/i;

function invalidTarget(pkg, key, target, isImports, base) {
  const what = isImports ? 'imports' : 'exports';
  const main = key === '.' && !isImports ? ' main' : '';
  const text = main
    ? `Invalid "exports" main target ${JSON.stringify(target)} defined in the package config ${pkg.file}`
    : `Invalid "${what}" target ${JSON.stringify(target)} defined for '${key}' in the package config ${pkg.file}`;
  const hint = typeof target === 'string' && !target.startsWith('./') && !isImports ? '; targets must start with "./"' : '';
  return nodeError(Error, 'ERR_INVALID_PACKAGE_TARGET', `${text} imported from ${base}${hint}`);
}

/** A target is a path, a list of them to try, conditions, or null. Answers a path, null, undefined, or { bare }. */
function target(pkg, value, star, key, isImports, conditions, base) {
  if (typeof value === 'string') {
    const filled = star === null ? value : value.replaceAll('*', () => star);
    if (!value.startsWith('./')) {
      if (isImports && !value.startsWith('../') && !value.startsWith('/')) return { bare: filled, from: pkg.file };
      throw invalidTarget(pkg, key, value, isImports, base);
    }
    if (INVALID.test(value.slice(2))) throw invalidTarget(pkg, key, value, isImports, base);
    if (star !== null && INVALID.test(star)) {
      throw nodeError(TypeError, 'ERR_INVALID_MODULE_SPECIFIER', `Invalid module "${key}" request is not a valid match in pattern imported from ${base}`);
    }
    return `${pkg.directory === '/' ? '' : pkg.directory}/${filled.slice(2)}`;
  }
  if (Array.isArray(value)) {
    let last;
    for (let i = 0; i < value.length; i++) {
      try {
        const found = target(pkg, value[i], star, key, isImports, conditions, base);
        if (found !== undefined && found !== null) return found;
        last = found;
      } catch (error) {
        if (error.code !== 'ERR_INVALID_PACKAGE_TARGET') throw error;
        if (i === value.length - 1) throw error;
      }
    }
    return last;
  }
  if (value !== null && typeof value === 'object') {
    const names = keys(value);
    for (let i = 0; i < names.length; i++) {
      if (names[i] !== 'default' && !conditions.includes(names[i])) continue;
      const found = target(pkg, value[names[i]], star, key, isImports, conditions, base);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (value === null) return null;
  throw invalidTarget(pkg, key, value, isImports, base);
}

/** Of two patterns the one with more before its star comes first. */
function patternOrder(a, b) {
  const before = b.indexOf('*') - a.indexOf('*');
  return before !== 0 ? before : b.length - a.length;
}

function match(pkg, table, key, isImports, conditions, base) {
  if (hasOwn(table, key) && !key.includes('*') && !key.endsWith('/')) {
    return target(pkg, table[key], null, key, isImports, conditions, base);
  }
  const patterns = keys(table).filter((name) => name.split('*').length === 2).sort(patternOrder);
  for (let i = 0; i < patterns.length; i++) {
    const [head, tail] = patterns[i].split('*');
    if (key.startsWith(head) && key.length > head.length + tail.length - (tail ? 0 : 1) && key.endsWith(tail) && key !== head) {
      const star = key.slice(head.length, key.length - tail.length);
      return target(pkg, table[patterns[i]], star, key, isImports, conditions, base);
    }
  }
  return undefined;
}

/** The file that `subpath` of a package with `exports` is. */
export function exportsTarget(pkg, subpath, conditions, base) {
  let table = pkg.data.exports;
  const names = table !== null && typeof table === 'object' && !Array.isArray(table) ? keys(table) : [];
  const dotted = names.filter((name) => name.startsWith('.')).length;
  if (dotted !== 0 && dotted !== names.length) {
    throw nodeError(Error, 'ERR_INVALID_PACKAGE_CONFIG', `Invalid package config ${pkg.file}. "exports" cannot contain some keys starting with '.' and some not. `
      + 'The exports object must either be an object of package subpath keys or an object of main entry condition name keys only.');
  }
  if (dotted === 0) table = { '.': table };
  const found = match(pkg, table, subpath, false, conditions, base);
  if (found === undefined || found === null) {
    const what = subpath === '.' ? 'No "exports" main defined' : `Package subpath '${subpath}' is not defined by "exports"`;
    throw nodeError(Error, 'ERR_PACKAGE_PATH_NOT_EXPORTED', `${what} in ${pkg.file}${base ? ` imported from ${base}` : ''}`);
  }
  return found;
}

/** What `#name` is in the package of `base`: a path or { bare, from }. */
export function importsTarget(specifier, base, conditions) {
  const pkg = packageOf(base);
  const table = pkg?.data.imports;
  if (specifier === '#' || specifier.startsWith('#/')) {
    throw nodeError(TypeError, 'ERR_INVALID_MODULE_SPECIFIER', `Invalid module "${specifier}" is not a valid internal imports specifier name imported from ${base}`);
  }
  if (table !== null && typeof table === 'object') {
    const found = match(pkg, table, specifier, true, conditions, base);
    if (found !== undefined && found !== null) return found;
  }
  throw nodeError(TypeError, 'ERR_PACKAGE_IMPORT_NOT_DEFINED',
    `Package import specifier "${specifier}" is not defined${pkg ? ` in package ${pkg.file}` : ''} imported from ${base}`);
}

