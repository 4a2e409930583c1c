// structuredClone.

import { invalidArgType, missingArgs } from '../internal/errors.js';
import { validateObject } from '../internal/validators.js';
import { classOf, typedArrayName } from '../modules/util/types.js';
import { binding } from '../internal/binding.js';
import { isURL } from '../modules/url/whatwg.js';
import { URLSearchParams } from '../modules/url/search_params.js';
import { Blob } from './blob.js';
import { Event, EventTarget } from './event_target.js';
import { MessagePort } from './messages.js';
import { DOMException } from './dom_exception.js';

const ERROR_CLASSES = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
const BOXED = { Boolean, Number, String, BigInt };

const uncloneable = (text) => new DOMException(`${text} could not be cloned.`, 'DataCloneError');

/** How the value is called in the message: its own text for functions and symbols, its tag for objects. */
function nameOf(value) {
  if (typeof value === 'symbol') return value.toString();
  if (typeof value === 'function') return Function.prototype.toString.call(value);
  if (classOf(value) === 'Symbol') return '[object Symbol]';
  return `#<${value.constructor?.name ?? 'Object'}>`;
}

export function clone(value, transfer = []) {
  const seen = new Map();
  for (const item of transfer) {
    if (seen.has(item)) throw new DOMException('Transfer list contains duplicate ArrayBuffer', 'DataCloneError');
    if (classOf(item) === 'ArrayBuffer') seen.set(item, undefined);
    else if (item instanceof MessagePort) seen.set(item, item);
    else throw new DOMException('Found invalid value in transferList.', 'DataCloneError');
  }
  const moved = transfer.filter((item) => classOf(item) === 'ArrayBuffer');
  for (const item of moved) if (item.detached) throw new DOMException('Cannot transfer object of unsupported type.', 'DataCloneError');
  // What is moved is detached only once the rest is known to be cloneable.
  for (const item of moved) seen.set(item, item.slice(0));
  const result = copy(value, seen);
  for (const item of moved) item.transfer();
  return result;
}

function copy(value, seen) {
  if (typeof value === 'symbol' || typeof value === 'function') throw uncloneable(nameOf(value));
  if (typeof value !== 'object' || value === null) return value;
  const known = seen.get(value);
  if (known !== undefined) return known;
  const keep = (made) => {
    seen.set(value, made);
    return made;
  };
  if (binding.proxyDetails(value) !== undefined) throw uncloneable('#<Object>');
  const kind = classOf(value);
  const typed = typedArrayName(value);
  if (typed) {
    const memory = copy(value.buffer, seen);
    return keep(new globalThis[typed](memory, value.byteOffset, value.length));
  }
  switch (kind) {
    case 'Boolean':
    case 'Number':
    case 'String':
    case 'BigInt':
      return keep(Object(BOXED[kind].prototype.valueOf.call(value)));
    case 'Date':
      return keep(new Date(Date.prototype.getTime.call(value)));
    case 'RegExp':
      return keep(new RegExp(value.source, value.flags));
    case 'ArrayBuffer':
      if (value.detached) throw new DOMException('An ArrayBuffer is detached and could not be cloned.', 'DataCloneError');
      return keep(value.resizable ? resizableCopy(value) : value.slice(0));
    case 'SharedArrayBuffer':
      return keep(value);
    case 'DataView':
      return keep(new DataView(copy(value.buffer, seen), value.byteOffset, value.byteLength));
    case 'Map':
      return copyMap(value, keep(new Map()), seen);
    case 'Set':
      return copySet(value, keep(new Set()), seen);
    case 'Error':
      return copyError(value, seen);
    case 'Array': {
      const array = keep(new Array(value.length));
      return copyProperties(value, array, seen);
    }
    case 'Object':
    case 'Arguments':
      if (value instanceof Blob || value instanceof DOMException) return keep(value);
      if (isURL(value) || value instanceof URLSearchParams || value instanceof EventTarget || value instanceof Event) {
        throw new DOMException('Cannot clone object of unsupported type.', 'DataCloneError');
      }
      return copyProperties(value, keep({}), seen);
    default:
      throw uncloneable(nameOf(value));
  }
}

function resizableCopy(memory) {
  const made = new ArrayBuffer(memory.byteLength, { maxByteLength: memory.maxByteLength });
  new Uint8Array(made).set(new Uint8Array(memory));
  return made;
}

function copyProperties(source, target, seen) {
  for (const key of Object.keys(source)) target[key] = copy(source[key], seen);
  return target;
}

function copyMap(source, target, seen) {
  for (const [key, value] of [...Map.prototype.entries.call(source)]) target.set(copy(key, seen), copy(value, seen));
  return target;
}

function copySet(source, target, seen) {
  for (const value of [...Set.prototype.values.call(source)]) target.add(copy(value, seen));
  return target;
}

function copyError(error, seen) {
  const Class = ERROR_CLASSES[error.name] ?? Error;
  const message = Object.getOwnPropertyDescriptor(error, 'message');
  const target = new Class(message === undefined ? undefined : `${message.value ?? ''}`);
  seen.set(error, target);
  Object.defineProperty(target, 'stack', {
    value: typeof error.stack === 'string' ? error.stack : undefined,
    writable: true,
    enumerable: false,
    configurable: true,
  });
  if (Object.hasOwn(error, 'cause')) {
    Object.defineProperty(target, 'cause', { value: copy(error.cause, seen), writable: true, enumerable: false, configurable: true });
  }
  return target;
}

export function structuredClone(value, options = undefined) {
  if (arguments.length === 0) throw missingArgs('The value argument must be specified');
  if (options !== undefined && options !== null) validateObject(options, 'options');
  const transfer = options?.transfer ?? [];
  if (typeof transfer[Symbol.iterator] !== 'function') throw invalidArgType('options.transfer', 'Iterable', transfer);
  return clone(value, [...transfer]);
}
