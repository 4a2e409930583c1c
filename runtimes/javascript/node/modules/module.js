// The module `module`: its default export is the class `Module`, as in Node.

import { Module, createRequire } from '../internal/loader/cjs.js';
import { builtinName, builtinNames } from '../internal/loader/builtins.js';
import { binding } from '../internal/binding.js';
import { packageOf } from '../internal/loader/packages.js';
import { pathOf } from '../internal/loader/urls.js';
import { missingArgs, nodeError, notImplemented } from '../internal/errors.js';
import { validateOneOf, validateString } from '../internal/validators.js';

Module.createRequire = createRequire;
Module.isBuiltin = function isBuiltin(name) {
  return typeof name === 'string' && builtinName(name) !== undefined;
};
let names;
Object.defineProperty(Module, 'builtinModules', {
  get() {
    names ??= builtinNames();
    return names;
  },
  set(value) {
    names = value;
  },
  enumerable: true,
  configurable: true,
});
Module.syncBuiltinESMExports = function syncBuiltinESMExports() {};
Module.findPackageJSON = function findPackageJSON(specifier, base) {
  if (specifier === undefined) throw missingArgs('specifier');
  const from = String(base ?? specifier);
  if (base !== undefined && !/^(\.{0,2}\/|file:)/.test(String(specifier))) return packageOf(createRequire(from).resolve(specifier))?.file;
  return packageOf(pathOf(from))?.file;
};
Module.findSourceMap = function findSourceMap() {
  return undefined;
};
Module.SourceMap = class SourceMap {
  constructor() {
    throw notImplemented('module.SourceMap');
  }
};
Module.register = function register() {
  throw notImplemented('module.register');
};
Module.registerHooks = function registerHooks() {
  throw notImplemented('module.registerHooks');
};
Module.constants = { compileCacheStatus: { FAILED: 0, ENABLED: 1, ALREADY_ENABLED: 2, DISABLED: 3 } };
Module.enableCompileCache = function enableCompileCache() {
  return { status: 3 };
};
Module.getCompileCacheDir = function getCompileCacheDir() {
  return undefined;
};
Module.flushCompileCache = function flushCompileCache() {};
Module.stripTypeScriptTypes = function stripTypeScriptTypes(code, options = {}) {
  validateString(code, 'code');
  validateOneOf(options.mode ?? 'strip', 'options.mode', ['strip', 'transform']);
  const made = binding.transpile('code.ts', binding.utf8Encode(code), options.sourceUrl ?? 'code.ts');
  if (typeof made !== 'string') throw nodeError(SyntaxError, 'ERR_INVALID_TYPESCRIPT_SYNTAX', made[0]);
  return made;
};
Module.runMain = function runMain() {};
Module._debug = function debug() {};
Module._findPath = function findPath(request, paths) {
  try {
    return createRequire(`${paths?.[0] ?? '/'}/`).resolve(request);
  } catch {
    return false;
  }
};
Module.getSourceMapsSupport = function getSourceMapsSupport() {
  return { __proto__: null, enabled: false, nodeModules: false, generatedCode: false };
};
Module.setSourceMapsSupport = function setSourceMapsSupport() {};

export default Module;
