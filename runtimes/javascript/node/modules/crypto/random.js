// Random bytes, numbers and UUIDs, all from the host's source.

import { binding } from '../../internal/binding.js';
import { invalidArgType, outOfRange } from '../../internal/errors.js';
import { validateBoolean, validateFunction, validateNumber, validateObject } from '../../internal/validators.js';
import { defer } from '../../internal/task.js';
import { Buffer } from '../buffer/buffer.js';
import { classOf, typedArrayName } from '../util/types.js';
import { DOMException } from '../../globals/dom_exception.js';

const MAX = 2 ** 31 - 1;

function checkedSize(size, name = 'size', max = MAX) {
  validateNumber(size, name);
  if (Number.isNaN(size) || size > max || size < 0) throw outOfRange(name, `>= 0 && <= ${max}`, size);
  return size >>> 0;
}

export function randomBytes(size, callback) {
  const length = checkedSize(size);
  if (callback !== undefined) validateFunction(callback, 'callback');
  const make = () => {
    const bytes = Buffer.alloc(length);
    binding.random(bytes);
    return bytes;
  };
  if (callback === undefined) return make();
  defer(make, callback);
  return undefined;
}

function target(buf, offset, size) {
  const kind = classOf(buf);
  const isMemory = kind === 'ArrayBuffer' || kind === 'SharedArrayBuffer';
  if (!ArrayBuffer.isView(buf) && !isMemory) throw invalidArgType('buf', ['ArrayBuffer', 'ArrayBufferView'], buf);
  const element = buf.BYTES_PER_ELEMENT ?? 1;
  const bound = (value, name, max) => {
    validateNumber(value, name);
    const bytes = value * element;
    if (Number.isNaN(bytes) || bytes > max || bytes < 0) throw outOfRange(name, `>= 0 && <= ${max}`, bytes);
    return bytes >>> 0;
  };
  const start = offset === undefined ? 0 : bound(offset, 'offset', buf.byteLength);
  const length = size === undefined ? buf.byteLength - start : bound(size, 'size', MAX);
  if (length + start > buf.byteLength) throw outOfRange('size + offset', `<= ${buf.byteLength}`, length + start);
  return isMemory ? new Uint8Array(buf, start, length) : new Uint8Array(buf.buffer, buf.byteOffset + start, length);
}

export function randomFillSync(buf, offset, size) {
  const bytes = target(buf, offset, size);
  if (bytes.length > 0) binding.random(bytes);
  return buf;
}

export function randomFill(buf, offset, size, callback) {
  if (typeof offset === 'function') [offset, size, callback] = [undefined, undefined, offset];
  else if (typeof size === 'function') [size, callback] = [undefined, size];
  validateFunction(callback, 'callback');
  const bytes = target(buf, offset, size);
  defer(() => {
    if (bytes.length > 0) binding.random(bytes);
    return buf;
  }, callback);
}

// The greatest range that 48 random bits cover evenly.
const RANGE_LIMIT = 2 ** 48;

export function randomInt(min, max, callback) {
  const minOnly = max === undefined || typeof max === 'function';
  if (minOnly) {
    callback = max;
    max = min;
    min = 0;
  }
  if (callback !== undefined) validateFunction(callback, 'callback');
  if (!Number.isSafeInteger(min)) throw invalidArgType('min', 'a safe integer', min);
  if (!Number.isSafeInteger(max)) throw invalidArgType('max', 'a safe integer', max);
  if (max <= min) throw outOfRange('max', `greater than the value of "min" (${min})`, max);
  const range = max - min;
  if (!(range < RANGE_LIMIT)) throw outOfRange(minOnly ? 'max' : 'max - min', `<= ${RANGE_LIMIT - 1}`, range);
  const pick = () => {
    const bytes = Buffer.alloc(6);
    // Values in the last, incomplete stretch of the range would be favoured: they are drawn again.
    const fair = RANGE_LIMIT - (RANGE_LIMIT % range);
    let value;
    do {
      binding.random(bytes);
      value = bytes.readUIntBE(0, 6);
    } while (value >= fair);
    return (value % range) + min;
  };
  if (callback === undefined) return pick();
  defer(pick, callback);
  return undefined;
}

function formatted(bytes) {
  const hex = Buffer.from(bytes.buffer).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export function randomUUID(options) {
  if (options !== undefined) {
    validateObject(options, 'options');
    if (options.disableEntropyCache !== undefined) validateBoolean(options.disableEntropyCache, 'options.disableEntropyCache');
  }
  const bytes = new Uint8Array(16);
  binding.random(bytes);
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return formatted(bytes);
}

export function randomUUIDv7() {
  const bytes = new Uint8Array(16);
  binding.random(bytes);
  let time = Date.now();
  for (let index = 5; index >= 0; index--) {
    bytes[index] = time % 256;
    time = Math.floor(time / 256);
  }
  bytes[6] = (bytes[6] & 0x0f) | 0x70;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return formatted(bytes);
}

const INTEGERS = new Set([
  'Int8Array',
  'Uint8Array',
  'Uint8ClampedArray',
  'Int16Array',
  'Uint16Array',
  'Int32Array',
  'Uint32Array',
  'BigInt64Array',
  'BigUint64Array',
]);

export function getRandomValues(array) {
  if (!INTEGERS.has(typedArrayName(array))) {
    throw new DOMException('The data argument must be an integer-type TypedArray', 'TypeMismatchError');
  }
  if (array.byteLength > 65536) {
    throw new DOMException(`The requested length exceeds 65,536 bytes`, 'QuotaExceededError');
  }
  return randomFillSync(array);
}
