// From what a script asks for to a file, by Node's rules; TypeScript beside JavaScript.

import posix from '../../modules/path.js';
import { nodeError } from '../errors.js';
import { grantOf } from '../cwd.js';
import { rememberPlaces } from '../uncaught.js';
import { isDirectory, isFile, realFile } from './files.js';
import { exportsTarget, importsTarget, packageIn, packageOf, splitBare } from './packages.js';
import { checkNul, splitUrl, urlOf } from './urls.js';

const { dirname, extname, normalize, resolve } = posix;

const REQUIRE = ['node', 'require', 'module-sync', 'node-addons'];
const IMPORT = ['node', 'import', 'module-sync', 'node-addons'];
const EXTENSIONS = ['.js', '.json', '.node', '.cjs', '.ts', '.cts', '.mts', '.mjs'];
// What a TypeScript file calls its siblings by the names they have when compiled.
const COMPILED = { '.js': '.ts', '.mjs': '.mts', '.cjs': '.cts' };

export const isTypeScript = (file) => /\.[mc]?ts$/.test(file);
const isRelative = (specifier) => /^\.{0,2}\//.test(specifier) || specifier === '.' || specifier === '..';

/** A file as CommonJS looks for it: as it is, with an extension, as a directory. */
function asFile(path) {
  if (!path.endsWith('/')) {
    if (isFile(path)) return path;
    for (let i = 0; i < EXTENSIONS.length; i++) if (isFile(path + EXTENSIONS[i])) return path + EXTENSIONS[i];
    const compiled = COMPILED[extname(path)];
    if (compiled) {
      const source = path.slice(0, -extname(path).length) + compiled;
      if (isFile(source)) return source;
    }
  }
  return undefined;
}

function asIndex(directory) {
  return asFile(`${directory === '/' ? '' : directory}/index`);
}

function asDirectory(path) {
  if (!isDirectory(path)) return undefined;
  const directory = path.endsWith('/') && path !== '/' ? path.slice(0, -1) : path;
  const main = packageIn(directory)?.data.main;
  if (typeof main === 'string' && main !== '') {
    const entry = resolve(directory, main);
    const found = asFile(entry) ?? asIndex(entry);
    if (found) return found;
  }
  return asIndex(directory);
}

const asAny = (path) => asFile(path) ?? asDirectory(path);

/** The `node_modules` that a file in `directory` can see, the nearest first. */
export function modulePaths(directory) {
  const paths = [];
  for (let current = directory; ; current = dirname(current)) {
    if (!current.endsWith('/node_modules')) paths.push(`${current === '/' ? '' : current}/node_modules`);
    if (current === '/') return paths;
  }
}

/** Of the places looked in, those that are in the same granted directory as the nearest: no other can hold a package. */
const visible = (places) => places.filter((place) => grantOf(place) === grantOf(places[0]));

function notFound(specifier, parents, looked) {
  let message = `Cannot find module '${specifier}'`;
  if (parents?.length > 0) message += `\nRequire stack:\n- ${parents.join('\n- ')}`;
  const places = looked && visible(looked);
  if (places?.length > 0) message += `\nLooked in:\n- ${places.join('\n- ')}`;
  const error = new Error(message);
  error.code = 'MODULE_NOT_FOUND';
  if (parents) error.requireStack = parents;
  return error;
}

/** The package's own name in a specifier means the package itself, if it has `exports`. */
function ofItself(name, subpath, base, conditions) {
  const pkg = packageOf(base);
  if (!pkg || pkg.data.exports == null || pkg.data.name !== name) return undefined;
  return exportsTarget(pkg, subpath, conditions, base);
}

/** What `require(specifier)` in a file means; `paths` are the node_modules to look in. `parents` is for the message. */
export function resolveRequire(specifier, base, paths, parents) {
  if (isRelative(specifier)) {
    const path = resolve(dirname(base), specifier);
    checkNul(path);
    const found = asAny(specifier.endsWith('/') ? `${path}/` : path);
    if (!found) throw notFound(specifier, parents);
    return realFile(found);
  }
  if (specifier[0] === '#') {
    const found = importsTarget(specifier, base, REQUIRE);
    if (typeof found !== 'string') return resolveRequire(found.bare, found.from, modulePaths(dirname(found.from)), parents);
    if (!isFile(found)) throw notFound(found);
    return realFile(found);
  }
  checkNul(specifier);
  let name;
  let subpath;
  try {
    ({ name, subpath } = splitBare(specifier, base));
  } catch {
    throw notFound(specifier, parents);
  }
  const own = ofItself(name, subpath, base, REQUIRE);
  if (own) return realFile(own);
  for (let i = 0; i < paths.length; i++) {
    const directory = `${paths[i]}/${name}`;
    const pkg = packageIn(directory);
    if (pkg && pkg.data.exports != null) {
      const found = exportsTarget(pkg, subpath, REQUIRE);
      if (!isFile(found)) throw notFound(found);
      return realFile(found);
    }
    const found = asAny(`${paths[i]}/${specifier}`);
    if (found) return realFile(found);
  }
  throw notFound(specifier, parents, paths);
}

function missing(path, base, kind = 'module', looked) {
  const message = `Cannot find ${kind} '${path}' imported from ${base}`;
  const error = nodeError(Error, 'ERR_MODULE_NOT_FOUND', message, kind === 'module' ? { url: urlOf(path) } : undefined);
  if (looked) rememberPlaces(error, visible(looked));
  return error;
}

/** An ES module is asked for with its whole name; TypeScript files may leave out or swap the extension. */
function exactFile(path, base) {
  if (isFile(path)) return path;
  if (isTypeScript(base)) {
    const found = asAny(path);
    if (found) return found;
  }
  if (isDirectory(path)) {
    const error = nodeError(Error, 'ERR_UNSUPPORTED_DIR_IMPORT',
      `Directory import '${path}' is not supported resolving ES modules imported from ${base}`);
    error.url = urlOf(path);
    throw error;
  }
  throw missing(path, base);
}

/** A package without `exports`, as ES modules see it. */
function legacyMain(directory, pkg) {
  const { main } = pkg?.data ?? {};
  if (typeof main === 'string' && main !== '') {
    const entry = resolve(directory, main);
    const found = asFile(entry) ?? asIndex(entry);
    if (found) return found;
  }
  return asIndex(directory);
}

function importBare(specifier, base) {
  const { name, subpath } = splitBare(specifier, base);
  const own = ofItself(name, subpath, base, IMPORT);
  if (own) return exactFile(own, base);
  const paths = modulePaths(dirname(base));
  for (let i = 0; i < paths.length; i++) {
    const directory = `${paths[i]}/${name}`;
    if (!isDirectory(directory)) continue;
    const pkg = packageIn(directory);
    if (pkg && pkg.data.exports != null) return exactFile(exportsTarget(pkg, subpath, IMPORT, base), base);
    if (subpath !== '.') return exactFile(resolve(directory, subpath), base);
    const found = legacyMain(directory, pkg);
    if (found) return found;
    throw missing(`${directory}/index.js`, base);
  }
  throw missing(name, base, 'package', paths);
}

/** What `import specifier` in the file `base` means: a file and what follows `?` in the specifier. With `anyhow`, of
 * what is named by its path the file need not exist. */
export function resolveImport(specifier, base, anyhow = false) {
  const exact = anyhow ? (path) => path : exactFile;
  const real = anyhow ? (path) => path : realFile;
  if (specifier[0] === '#') {
    const found = importsTarget(specifier, base, IMPORT);
    if (typeof found !== 'string') return { bare: found.bare, from: found.from };
    return { file: realFile(exactFile(found, base)), suffix: '' };
  }
  if (specifier.startsWith('file:')) {
    const { path, suffix } = splitUrl(specifier);
    checkNul(path);
    // A URL takes `..` by its text alone.
    return { file: real(exact(normalize(path), base)), suffix };
  }
  if (isRelative(specifier)) {
    const { path, suffix } = splitUrl(`file:${specifier.startsWith('/') ? '//' : '///'}${specifier}`);
    const whole = specifier.startsWith('/') ? normalize(path) : resolve(dirname(base), path.slice(1));
    checkNul(whole);
    const isFolder = /(^|\/)\.{0,2}$/.test(path) && whole !== '/';
    return { file: real(exact(isFolder ? `${whole}/` : whole, base)), suffix };
  }
  return { file: realFile(importBare(specifier, base)), suffix: '' };
}
