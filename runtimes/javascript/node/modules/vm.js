// node:vm: scripts in this context. There is no other: functions that would make one say so.

import { binding } from '../internal/binding.js';
import { invalidArgType, notImplemented } from '../internal/errors.js';
import { validateArray, validateInt32, validateObject, validateString, validateStringArray } from '../internal/validators.js';

function nameFrom(options) {
  const filename = typeof options === 'string' ? options : (options?.filename ?? 'evalmachine.<anonymous>');
  validateString(filename, 'options.filename');
  return filename;
}

const noContext = (name) => notImplemented(`vm.${name}`, 'there is one context; use vm.runInThisContext');

class Script {
  #code;
  #filename;
  #line;

  constructor(code, options = {}) {
    this.#code = `${code}`;
    if (options === null || (typeof options !== 'object' && typeof options !== 'string')) throw invalidArgType('options', 'Object', options);
    this.#filename = nameFrom(options);
    if (options.lineOffset !== undefined) validateInt32(options.lineOffset, 'options.lineOffset');
    this.#line = 1 + (options.lineOffset ?? 0);
    binding.checkScript(this.#code, this.#filename);
    this.cachedDataRejected = undefined;
    this.sourceMapURL = undefined;
  }

  runInThisContext() {
    return binding.runScript(this.#code, this.#filename, this.#line);
  }

  runInContext() {
    throw noContext('Script.runInContext');
  }

  runInNewContext() {
    throw noContext('Script.runInNewContext');
  }

  createCachedData() {
    throw notImplemented('vm.Script.createCachedData');
  }
}

function runInThisContext(code, options) {
  return new Script(code, options).runInThisContext(options);
}

function compileFunction(code, params, options = {}) {
  validateString(code, 'code');
  if (params !== undefined) validateStringArray(params, 'params');
  validateObject(options, 'options');
  if (options.parsingContext !== undefined) throw noContext('compileFunction with a parsingContext');
  if (options.contextExtensions !== undefined) validateArray(options.contextExtensions, 'options.contextExtensions');
  return binding.compileFunction(code, nameFrom({ filename: options.filename ?? '' }), (params ?? []).join(', '));
}

const refuse = (name) =>
  ({
    [name]() {
      throw noContext(name);
    },
  })[name];

export default {
  Script,
  createContext: refuse('createContext'),
  createScript: (code, options) => new Script(code, options),
  runInContext: refuse('runInContext'),
  runInNewContext: refuse('runInNewContext'),
  runInThisContext,
  isContext(object) {
    validateObject(object, 'object', { allowArray: true });
    return false;
  },
  compileFunction,
  measureMemory: refuse('measureMemory'),
  constants: Object.freeze({
    __proto__: null,
    USE_MAIN_CONTEXT_DEFAULT_LOADER: Symbol('vm_dynamic_import_main_context_default'),
    DONT_CONTEXTIFY: Symbol('vm_context_no_contextify'),
  }),
};
