// CommonJS: `Module`, `require`, and the cache that scripts may look into and change.

import { binding } from '../binding.js';
import { invalidArgValue, nodeError } from '../errors.js';
import { validateString } from '../validators.js';
import posix from '../../modules/path.js';
import { builtin, builtinName } from './builtins.js';
import { checkExtension, compileBody, formatOf, sourceOf } from './formats.js';
import { modulePaths, resolveRequire } from './resolve.js';
import { pathOf, urlOf } from './urls.js';

const { basename, dirname, extname } = posix;
const { apply } = Reflect;
const { parse } = JSON;
const { defineProperty } = Object;

export function Module(id = '', parent) {
  this.id = id;
  this.path = dirname(id);
  this.exports = {};
  defineProperty(this, 'parent', { value: parent, writable: true, enumerable: false, configurable: true });
  if (parent) parent.children.push(this);
  this.filename = null;
  this.loaded = false;
  this.children = [];
}

Module._cache = { __proto__: null };
Module._pathCache = { __proto__: null };
Module._extensions = { __proto__: null };
Module.globalPaths = [];
Module.Module = Module;

let mainModule;

Module._nodeModulePaths = (from) => modulePaths(posix.resolve(from));
Module._initPaths = () => {};
Module._preloadModules = () => {};

function requireStack(module) {
  const files = [];
  for (let current = module; current && files.length < 100; current = current.parent) files.push(current.filename || current.id);
  return files;
}

Module._resolveFilename = function _resolveFilename(request, parent, isMain, options) {
  if (builtinName(request) !== undefined) return request;
  if (request.startsWith('node:')) throw unknownBuiltin(request);
  const base = parent?.filename ?? `${globalThis.process.cwd()}/[eval]`;
  if (options?.paths !== undefined) {
    if (!Array.isArray(options.paths)) throw invalidArgValue('options.paths', options.paths);
    for (let i = 0; i < options.paths.length; i++) {
      const from = posix.resolve(options.paths[i]);
      try {
        return resolveRequire(request, `${from}/[require]`, modulePaths(from), requireStack(parent));
      } catch (error) {
        if (error.code !== 'MODULE_NOT_FOUND' || i === options.paths.length - 1) throw error;
      }
    }
  }
  return resolveRequire(request, base, parent?.paths?.length ? parent.paths : modulePaths(dirname(base)), parent ? requireStack(parent) : []);
};

Module._resolveLookupPaths = (request, parent) => {
  if (builtinName(request) !== undefined) return null;
  return /^\.{1,2}(\/|$)/.test(request) ? [parent?.filename ? dirname(parent.filename) : '.'] : parent?.paths ?? [];
};

function unknownBuiltin(request) {
  return nodeError(Error, 'ERR_UNKNOWN_BUILTIN_MODULE', `No such built-in module: ${request}`);
}

Module._load = function _load(request, parent, isMain) {
  const name = builtinName(request);
  if (name !== undefined) return builtin(name);
  const filename = Module._resolveFilename(request, parent, isMain);
  const cached = Module._cache[filename];
  if (cached !== undefined) {
    if (parent && !parent.children.includes(cached)) parent.children.push(cached);
    return cached.exports;
  }
  return loadFile(filename, parent, isMain).exports;
};

/** Runs a file as a new module. */
export function loadFile(filename, parent, isMain = false) {
  const module = new Module(filename, parent);
  if (isMain) {
    mainModule = module;
    module.id = '.';
    globalThis.process.mainModule = module;
  }
  Module._cache[filename] = module;
  let isLoaded = false;
  try {
    module.load(filename);
    isLoaded = true;
  } finally {
    if (!isLoaded) {
      delete Module._cache[filename];
      const index = parent ? parent.children.indexOf(module) : -1;
      if (index >= 0) parent.children.splice(index, 1);
    }
  }
  return module;
}

Module.prototype.load = function load(filename) {
  this.filename = filename;
  this.paths = modulePaths(dirname(filename));
  const extension = extname(basename(filename));
  const loader = Module._extensions[extension] ?? Module._extensions['.js'];
  loader(this, filename);
  this.loaded = true;
};

Module.prototype.require = function require(id) {
  validateString(id, 'id');
  if (id === '') throw invalidArgValue('id', id, 'must be a non-empty string');
  return Module._load(id, this, false);
};

Module.prototype._compile = function _compile(content, filename) {
  const body = binding.compileFunction(content.startsWith('#!') ? `//${content}` : content, filename, 'exports, require, module, __filename, __dirname');
  return execute(this, body, filename);
};

function execute(module, body, filename) {
  binding.forgetThrow();
  return apply(body, module.exports, [module.exports, makeRequire(module), module, filename, dirname(filename)]);
}

// Set by esm.js: the namespace of an ES module, evaluated at once.
let requireModule;
export function useRequireModule(f) {
  requireModule = f;
}

Module._extensions['.js'] = function js(module, filename) {
  checkExtension(filename);
  const source = sourceOf(filename);
  if (formatOf(source) === 'module') {
    module.exports = requireModule(urlOf(filename), module.parent?.filename);
    return;
  }
  execute(module, compileBody(source), filename);
};
for (const extension of ['.ts', '.cts', '.mts', '.mjs', '.cjs']) {
  defineProperty(Module._extensions, extension, { value: Module._extensions['.js'], writable: true, enumerable: false, configurable: true });
}

Module._extensions['.json'] = function json(module, filename) {
  const text = sourceOf(filename).original;
  try {
    module.exports = parse(text);
  } catch (error) {
    error.message = `${filename}: ${error.message}`;
    // In Node's own code the call has no receiver, and its frame is shown.
    error.stack = error.stack.replace(error.message, () => `${error.message}\n    at parse (<anonymous>)`);
    throw error;
  }
};

Module._extensions['.node'] = function addon(module, filename) {
  checkExtension(filename);
};

/** `require` for a module. */
export function makeRequire(module) {
  function require(path) {
    return module.require(path);
  }
  require.resolve = function resolve(request, options) {
    validateString(request, 'request');
    return Module._resolveFilename(request, module, false, options);
  };
  require.resolve.paths = function paths(request) {
    validateString(request, 'request');
    return Module._resolveLookupPaths(request, module);
  };
  require.main = mainModule;
  require.extensions = Module._extensions;
  require.cache = Module._cache;
  return require;
}

/** `createRequire`: for a file, a directory (ending in `/`) or a `file:` URL. */
export function createRequire(filename) {
  let path = filename;
  if (filename !== null && typeof filename === 'object' && typeof filename.href === 'string') path = filename.href;
  if (typeof path === 'string' && path.startsWith('file:')) path = pathOf(path);
  if (typeof path !== 'string' || path[0] !== '/') {
    throw invalidArgValue('filename', filename, 'must be a file URL object, file URL string, or absolute path string');
  }
  const file = path.endsWith('/') ? `${path}noop.js` : path;
  const module = new Module(file);
  module.filename = file;
  module.paths = modulePaths(dirname(file));
  return makeRequire(module);
}

Module.wrapper = ['(function (exports, require, module, __filename, __dirname) { ', '\n});'];
Module.wrap = (script) => Module.wrapper[0] + script + Module.wrapper[1];
