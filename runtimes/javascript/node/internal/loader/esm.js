// ES modules: the hooks that the engine loads them by, and the modules of other kinds that they import.

import { binding } from '../binding.js';
import { nodeError } from '../errors.js';
import posix from '../../modules/path.js';
import { rejection } from '../rejections.js';
import { builtin, builtinName } from './builtins.js';
import { Module, loadFile, useRequireModule } from './cjs.js';
import { betterError, checkExtension, formatOf, javascriptOf, sourceOf } from './formats.js';
import { decorateLink } from './links.js';
import { exportNames } from './lexer.js';
import { resolveImport } from './resolve.js';
import { pathOf, splitUrl, urlOf } from './urls.js';

const { dirname, extname } = posix;
const { parse } = JSON;
const { apply } = Reflect;
const { then } = Promise.prototype;
const { keys } = Object;
const { includes } = Array.prototype;

let mainUrl;
export function setMainUrl(url) {
  mainUrl = url;
}

/** Files whose code says `import()` outside of any file, as `eval` and `new Function` make it, count as being in the cwd. */
function baseOf(name) {
  if (name.startsWith('file:')) return splitUrl(name).path;
  return name.startsWith('/') ? name : `${globalThis.process.cwd()}/[eval]`;
}

function checkAttributes(attributes) {
  if (attributes === undefined) return;
  const names = keys(attributes);
  for (let i = 0; i < names.length; i++) {
    if (names[i] !== 'type') {
      throw nodeError(TypeError, 'ERR_IMPORT_ATTRIBUTE_UNSUPPORTED', `Import attribute "${names[i]}" with value "${attributes[names[i]]}" is not supported`);
    }
  }
}

/** The name of the module that `specifier` means in the module or file `base`. */
function resolve(specifier, base, attributes, anyhow) {
  checkAttributes(attributes);
  const name = builtinName(specifier);
  if (name !== undefined) return `node:${name}`;
  if (specifier.startsWith('node:')) throw nodeError(Error, 'ERR_UNKNOWN_BUILTIN_MODULE', `No such built-in module: ${specifier}`);
  if (specifier.startsWith('data:')) return specifier;
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(specifier);
  if (scheme && scheme[1] !== 'file') {
    throw nodeError(Error, 'ERR_UNSUPPORTED_ESM_URL_SCHEME',
      `Only URLs with a scheme in: file and data are supported by the default ESM loader. Received protocol '${scheme[1]}:'`);
  }
  const found = resolveImport(specifier, baseOf(base), anyhow);
  return found.bare === undefined ? urlOf(found.file) + found.suffix : resolve(found.bare, found.from);
}

/** A module made of values: [names, function that gives [name, value, …]]. */
function made(names, values) {
  return [names, () => {
    const from = values();
    const list = [];
    for (let i = 0; i < names.length; i++) {
      list[2 * i] = names[i];
      list[2 * i + 1] = from(names[i]);
    }
    return list;
  }];
}

function ofBuiltin(name) {
  const value = builtin(name);
  const names = keys(value).filter((each) => each !== 'default');
  names.push('default');
  return made(names, () => (each) => (each === 'default' ? value : value[each]));
}

function ofJson(file, attributes) {
  if (attributes?.type !== 'json') {
    throw nodeError(TypeError, 'ERR_IMPORT_ATTRIBUTE_MISSING', `Module "${urlOf(file)}" needs an import attribute of "type: json"`);
  }
  return made(['default'], () => {
    const { original } = sourceOf(file);
    try {
      const value = parse(original);
      return () => value;
    } catch (error) {
      throw nodeError(SyntaxError, 'ERR_INVALID_JSON', `${file}: ${error.message}`);
    }
  });
}

function ofCommonJs(file) {
  // The engine takes names as C strings, which end at NUL.
  const names = exportNames(file).filter((name) => name !== 'default' && name !== 'module.exports' && !name.includes('\0'));
  names.push('default', 'module.exports');
  return made(names, () => {
    const module = Module._cache[file] ?? loadFile(file, undefined);
    const { exports } = module;
    return (name) => {
      if (name === 'module.exports') return exports;
      // What was an ES module before it was compiled has its own default.
      if (name === 'default') return exports;
      return exports === null || exports === undefined ? undefined : exports[name];
    };
  });
}

function ofData(url) {
  const match = /^data:([^,;]*)((?:;[^,;]*)*),(.*)$/s.exec(url);
  if (!match) throw nodeError(TypeError, 'ERR_INVALID_URL', 'Invalid URL');
  const [, type, options, body] = match;
  const text = options.endsWith(';base64') ? globalThis.Buffer.from(decodeURIComponent(body), 'base64').toString() : decodeURIComponent(body);
  if (type === 'application/json') return made(['default'], () => { const value = parse(text); return () => value; });
  if (type !== 'text/javascript') throw nodeError(TypeError, 'ERR_UNKNOWN_MODULE_FORMAT', `Unknown module format: ${type} for URL ${url}`);
  return text;
}

const EXTENSIONS = ['.js', '.mjs', '.cjs', '.ts', '.mts', '.cts', '.json', ''];

/** The source of an ES module, or a module made of another kind. */
function load(name, attributes) {
  if (name.startsWith('node:')) return ofBuiltin(name.slice(5));
  if (name.startsWith('data:')) return ofData(name);
  const file = pathOf(name);
  checkExtension(file);
  if (!apply(includes, EXTENSIONS, [extname(file)]) && name !== mainUrl) {
    throw nodeError(TypeError, 'ERR_UNKNOWN_FILE_EXTENSION', `Unknown file extension "${extname(file)}" for ${file}`);
  }
  const source = sourceOf(file);
  const format = formatOf(source);
  if (format === 'json') return ofJson(file, attributes);
  if (attributes?.type !== undefined) {
    throw nodeError(TypeError, 'ERR_IMPORT_ATTRIBUTE_TYPE_INCOMPATIBLE', `Module "${name}" is not of type "${attributes.type}"`);
  }
  return format === 'module' ? javascriptOf(source, name) : ofCommonJs(file);
}

function meta(object, name) {
  const put = (key, value) => { object[key] = value; };
  if (name.startsWith('file:')) {
    const file = pathOf(name);
    put('dirname', dirname(file));
    put('filename', file);
  }
  put('main', name === mainUrl);
  put('resolve', (specifier) => resolve(`${specifier}`, name, undefined, true));
  put('url', name);
}

binding.setHooks(resolve, load, meta, betterError, rejection);

/** Loads and evaluates the module: [promise of its end, or undefined inside of a cycle; namespace]. */
export function importNow(url) {
  try {
    return binding.importNow(url, '/');
  } catch (error) {
    throw decorateLink(error);
  }
}

const ignore = () => {};

useRequireModule((url, parent) => {
  const [promise, namespace] = importNow(url);
  const [state, reason] = promise === undefined ? [0] : binding.promiseDetails(promise);
  if (state === 2) {
    apply(then, promise, [ignore, ignore]);
    throw reason;
  }
  if (state === 0) {
    const from = parent ? ` from ${parent}` : '';
    if (promise === undefined) {
      throw nodeError(Error, 'ERR_REQUIRE_CYCLE_MODULE', `Cannot require() ES Module ${pathOf(url)} in a cycle.${from && ` (${from.slice(1)})`}`);
    }
    apply(then, promise, [ignore, ignore]);
    throw nodeError(Error, 'ERR_REQUIRE_ASYNC_MODULE', 'require() cannot be used on an ESM graph with top-level await. Use import() instead. '
      + 'To see where the top-level await comes from, use --experimental-print-required-tla.');
  }
  return 'module.exports' in namespace ? namespace['module.exports'] : namespace;
});
