// The parts of util that wrap functions.

import process from '../process.js';
import { invalidArgType, nodeError } from '../../internal/errors.js';
import { validateFunction, validateString } from '../../internal/validators.js';
import { classOf } from './types.js';

const kCustom = Symbol.for('nodejs.util.promisify.custom');
/** Names for the values of a callback that gets more than one; such a promise gives an object. */
export const kCustomPromisifyArgs = Symbol('customPromisifyArgs');

export function promisify(original) {
  validateFunction(original, 'original');
  const custom = original[kCustom];
  if (custom) {
    validateFunction(custom, 'util.promisify.custom');
    return Object.defineProperty(custom, kCustom, { value: custom, enumerable: false, writable: false, configurable: true });
  }
  const names = original[kCustomPromisifyArgs];
  function promisified(...args) {
    return new Promise((resolve, reject) => {
      args.push((error, ...values) => {
        if (error) reject(error);
        else if (names !== undefined && values.length > 1) resolve(Object.fromEntries(names.map((name, index) => [name, values[index]])));
        else resolve(values[0]);
      });
      const result = Reflect.apply(original, this, args);
      if (classOf(result) === 'Promise') {
        process.emitWarning('Calling promisify on a function that returns a Promise is likely a mistake.', 'DeprecationWarning', 'DEP0174');
      }
    });
  }
  Object.setPrototypeOf(promisified, Object.getPrototypeOf(original));
  Object.defineProperty(promisified, kCustom, { value: promisified, enumerable: false, writable: false, configurable: true });
  return Object.defineProperties(promisified, Object.getOwnPropertyDescriptors(original));
}
promisify.custom = kCustom;

function reject(reason, callback) {
  if (!reason) {
    const error = nodeError(Error, 'ERR_FALSY_VALUE_REJECTION', 'Promise was rejected with falsy value');
    error.reason = reason;
    reason = error;
  }
  callback(reason);
}

export function callbackify(original) {
  validateFunction(original, 'original');
  function callbackified(...args) {
    const last = args.pop();
    validateFunction(last, 'last argument');
    const callback = last.bind(this);
    Reflect.apply(original, this, args).then(
      (result) => process.nextTick(callback, null, result),
      (reason) => process.nextTick(reject, reason, callback),
    );
  }
  const descriptors = Object.getOwnPropertyDescriptors(original);
  if (typeof descriptors.length?.value === 'number') descriptors.length.value++;
  if (typeof descriptors.name?.value === 'string') descriptors.name.value += 'Callbackified';
  return Object.defineProperties(callbackified, descriptors);
}

export function inherits(ctor, superCtor) {
  if (ctor == null) throw invalidArgType('ctor', 'Function', ctor);
  if (superCtor == null) throw invalidArgType('superCtor', 'Function', superCtor);
  if (superCtor.prototype === undefined) throw invalidArgType('superCtor.prototype', 'Object', superCtor.prototype);
  Object.defineProperty(ctor, 'super_', { value: superCtor, writable: true, configurable: true });
  Object.setPrototypeOf(ctor.prototype, superCtor.prototype);
}

const warnedCodes = new Set();

export function deprecate(fn, msg, code, { modifyPrototype = true } = {}) {
  if (code !== undefined) validateString(code, 'code');
  let warned = false;
  function deprecated(...args) {
    if (!process.noDeprecation && !warned) {
      warned = true;
      if (code === undefined) process.emitWarning(msg, 'DeprecationWarning', deprecated);
      else if (!warnedCodes.has(code)) {
        warnedCodes.add(code);
        process.emitWarning(msg, 'DeprecationWarning', code, deprecated);
      }
    }
    return new.target ? Reflect.construct(fn, args, new.target) : Reflect.apply(fn, this, args);
  }
  if (modifyPrototype) {
    Object.setPrototypeOf(deprecated, fn);
    if (fn.prototype) deprecated.prototype = fn.prototype;
    Object.defineProperty(deprecated, 'length', { ...Object.getOwnPropertyDescriptor(fn, 'length') });
  }
  return deprecated;
}
