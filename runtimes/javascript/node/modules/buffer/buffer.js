// The class Buffer: making, comparing, searching, copying, converting.

import { binding } from '../../internal/binding.js';
import { invalidArgType, invalidArgValue, nodeError, outOfRange, unknownEncoding } from '../../internal/errors.js';
import { validateArray, validateInteger, validateNumber, validateString } from '../../internal/validators.js';
import process from '../process.js';
import { inspect } from '../util/inspect.js';
import { classOf, typedArrayName } from '../util/types.js';
import { codecFor, utf8 } from './codecs.js';
import numbers from './numbers.js';
import { search } from './search.js';

export const MAX_LENGTH = 2 ** 53 - 1;
export const MAX_STRING_LENGTH = 2 ** 29 - 24;

export const settings = { INSPECT_MAX_BYTES: 50 };

class FastBuffer extends Uint8Array {}

const isAnyArrayBuffer = (value) => {
  const name = classOf(value);
  return name === 'ArrayBuffer' || name === 'SharedArrayBuffer';
};
const isUint8Array = (value) => typedArrayName(value) === 'Uint8Array';

let warned = false;

export function Buffer(arg, encodingOrOffset, length) {
  if (!warned && !process.noDeprecation) {
    warned = true;
    process.emitWarning(
      'Buffer() is deprecated due to security and usability issues. Please use the Buffer.alloc(), Buffer.allocUnsafe(), or Buffer.from() methods instead.',
      'DeprecationWarning',
      'DEP0005',
    );
  }
  if (typeof arg === 'number') {
    if (typeof encodingOrOffset === 'string') throw invalidArgType('string', 'string', arg);
    return Buffer.alloc(arg);
  }
  return Buffer.from(arg, encodingOrOffset, length);
}

Buffer.prototype = FastBuffer.prototype;
Object.defineProperty(Buffer.prototype, 'constructor', { value: Buffer, writable: true, configurable: true });
Object.setPrototypeOf(Buffer, Uint8Array);
Object.defineProperty(Buffer, Symbol.species, {
  get() {
    return FastBuffer;
  },
  configurable: true,
});

/** The same memory as a Buffer. */
export const asBuffer = (bytes) => new FastBuffer(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const statics = {
  poolSize: 65536,

  from(value, encodingOrOffset, length) {
    if (typeof value === 'string') return fromString(value, encodingOrOffset);
    if (typeof value === 'object' && value !== null) {
      if (isAnyArrayBuffer(value)) return fromArrayBuffer(value, encodingOrOffset, length);
      const primitive = value.valueOf?.();
      if (primitive != null && primitive !== value && (typeof primitive === 'string' || typeof primitive === 'object')) {
        return Buffer.from(primitive, encodingOrOffset, length);
      }
      const copy = fromObject(value);
      if (copy) return copy;
      if (typeof value[Symbol.toPrimitive] === 'function') {
        const text = value[Symbol.toPrimitive]('string');
        if (typeof text === 'string') return fromString(text, encodingOrOffset);
      }
    }
    throw nodeTypeError(value);
  },

  copyBytesFrom(typed, offset, length) {
    if (typedArrayName(typed) === undefined) throw invalidArgType('view', 'TypedArray', typed);
    if (offset !== undefined) validateInteger(offset, 'offset', 0);
    if (length !== undefined) validateInteger(length, 'length', 0);
    const start = offset ?? 0;
    const part = typed.subarray(start, length === undefined ? undefined : start + length);
    return asBuffer(new Uint8Array(part.buffer.slice(part.byteOffset, part.byteOffset + part.byteLength)));
  },

  of(...items) {
    return FastBuffer.from(items);
  },

  alloc(size, fill, encoding) {
    validateNumber(size, 'size', 0, MAX_LENGTH);
    const buffer = new FastBuffer(size);
    return fill !== undefined && fill !== 0 && size > 0 ? buffer.fill(fill, encoding) : buffer;
  },

  allocUnsafe(size) {
    validateNumber(size, 'size', 0, MAX_LENGTH);
    return new FastBuffer(size);
  },

  allocUnsafeSlow(size) {
    validateNumber(size, 'size', 0, MAX_LENGTH);
    return new FastBuffer(size);
  },

  isBuffer(value) {
    return value instanceof Buffer;
  },

  isEncoding(encoding) {
    return typeof encoding === 'string' && encoding.length !== 0 && codecFor(encoding) !== undefined;
  },

  byteLength(string, encoding) {
    if (typeof string !== 'string') {
      if (ArrayBuffer.isView(string) || isAnyArrayBuffer(string)) return string.byteLength;
      throw invalidArgType('string', ['string', 'Buffer', 'ArrayBuffer'], string);
    }
    return ((encoding && codecFor(encoding)) || utf8).byteLength(string);
  },

  compare(a, b) {
    if (!isUint8Array(a)) throw invalidArgType('buf1', ['Buffer', 'Uint8Array'], a);
    if (!isUint8Array(b)) throw invalidArgType('buf2', ['Buffer', 'Uint8Array'], b);
    return compareBytes(a, b);
  },

  concat(list, length) {
    validateArray(list, 'list');
    if (list.length === 0) return new FastBuffer();
    if (length === undefined) {
      length = 0;
      for (const each of list) if (each.length) length += each.length;
    } else {
      validateInteger(length, 'length', 0);
    }
    const result = new FastBuffer(length);
    let at = 0;
    list.forEach((each, index) => {
      if (!isUint8Array(each)) throw invalidArgType(`list[${index}]`, ['Buffer', 'Uint8Array'], each);
      const part = at + each.length > length ? Uint8Array.prototype.subarray.call(each, 0, Math.max(0, length - at)) : each;
      result.set(part, at);
      at += part.length;
    });
    return result;
  },
};

for (const [name, value] of Object.entries(statics)) {
  Object.defineProperty(Buffer, name, { value, writable: true, enumerable: true, configurable: true });
}

function nodeTypeError(value) {
  return invalidArgType('first argument', ['string', 'Buffer', 'ArrayBuffer', 'Array', 'Array-like Object'], value);
}

function fromString(text, encoding) {
  const codec = typeof encoding !== 'string' || encoding === '' ? utf8 : codecFor(encoding);
  if (codec === undefined) throw unknownEncoding(encoding);
  return asBuffer(codec.encode(text));
}

function fromArrayBuffer(memory, offset, length) {
  offset = offset === undefined ? 0 : Math.trunc(+offset) || 0;
  const most = memory.byteLength - offset;
  if (most < 0) throw nodeError(RangeError, 'ERR_BUFFER_OUT_OF_BOUNDS', '"offset" is outside of buffer bounds');
  if (length === undefined) {
    length = most;
  } else {
    length = Math.max(0, +length || 0);
    if (length > most) throw nodeError(RangeError, 'ERR_BUFFER_OUT_OF_BOUNDS', '"length" is outside of buffer bounds');
  }
  return new FastBuffer(memory, offset, length);
}

function fromObject(value) {
  if (value.length !== undefined || isAnyArrayBuffer(value.buffer)) {
    if (typeof value.length !== 'number') return new FastBuffer();
    return value.length > 0 ? new FastBuffer(Array.isArray(value) || ArrayBuffer.isView(value) ? value : Array.from(value)) : new FastBuffer();
  }
  if (value.type === 'Buffer' && Array.isArray(value.data)) return new FastBuffer(value.data);
  return undefined;
}

// From this size on, comparing as text is faster: it happens in the engine, and Latin-1 keeps the order of bytes.
const LONG = 64;

export function compareBytes(a, b) {
  if (a.length > LONG && b.length > LONG) {
    const left = binding.latin1Decode(a, 0, a.length);
    const right = binding.latin1Decode(b, 0, b.length);
    return left === right ? 0 : left < right ? -1 : 1;
  }
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    if (a[index] !== b[index]) return a[index] < b[index] ? -1 : 1;
  }
  return Math.sign(a.length - b.length);
}

/** A position counted from the front, clipped to the buffer, as toString and slice take it. */
function clip(value, length, fallback) {
  if (value === undefined) return fallback;
  value = Math.trunc(+value) || 0;
  return Math.min(Math.max(value, 0), length);
}

const prototype = {
  get parent() {
    return this instanceof Buffer ? this.buffer : undefined;
  },

  get offset() {
    return this instanceof Buffer ? this.byteOffset : undefined;
  },

  copy(target, targetStart, sourceStart, sourceEnd) {
    if (!ArrayBuffer.isView(target)) throw invalidArgType('target', ['Buffer', 'Uint8Array'], target);
    const to = isUint8Array(target) ? target : asBuffer(target);
    const integer = (value, fallback) => (value === undefined ? fallback : Math.trunc(+value) || 0);
    const start = integer(targetStart, 0);
    const from = integer(sourceStart, 0);
    const end = integer(sourceEnd, this.length);
    if (start < 0) throw outOfRange('targetStart', '>= 0', start);
    if (from < 0 || from > this.length) throw outOfRange('sourceStart', `>= 0 && <= ${this.length}`, from);
    if (end < 0) throw outOfRange('sourceEnd', '>= 0', end);
    if (start >= to.length || from >= end) return 0;
    const count = Math.min(end - from, to.length - start, this.length - from);
    Uint8Array.prototype.set.call(to, Uint8Array.prototype.subarray.call(this, from, from + count), start);
    return count;
  },

  toString(encoding, start, end) {
    if (arguments.length === 0) return binding.utf8Decode(this, 0, this.length);
    const from = clip(start, this.length, 0);
    const to = clip(end, this.length, this.length);
    if (to <= from) return '';
    const codec = encoding === undefined ? utf8 : codecFor(encoding);
    if (codec === undefined) throw unknownEncoding(encoding);
    return codec.decode(this, from, to);
  },

  equals(other) {
    if (!isUint8Array(other)) throw invalidArgType('otherBuffer', ['Buffer', 'Uint8Array'], other);
    return this === other || (this.length === other.length && compareBytes(this, other) === 0);
  },

  [inspect.custom](depth, ctx) {
    const shown = Math.min(settings.INSPECT_MAX_BYTES, this.length);
    const rest = this.length - shown;
    let text = Array.from(Uint8Array.prototype.subarray.call(this, 0, shown), (byte) => byte.toString(16).padStart(2, '0')).join(' ');
    if (rest > 0) text += ` ... ${rest} more byte${rest > 1 ? 's' : ''}`;
    if (ctx) {
      const own = binding.ownNonIndex(this).filter((key) => ctx.showHidden || Object.prototype.propertyIsEnumerable.call(this, key));
      if (own.length > 0) {
        if (this.length !== 0) text += ', ';
        const extras = { __proto__: null };
        for (const key of own) extras[key] = this[key];
        // `{ a: 1 }` without a prototype prints as `[Object: null prototype] { a: 1 }`: the inside is wanted.
        text += inspect(extras, { ...ctx, breakLength: Infinity, compact: true }).slice(27, -2);
      }
    }
    const { name } = this.constructor;
    return `<${name === 'FastBuffer' ? 'Buffer' : name}${text === '' ? ' ' : ` ${text}`}>`;
  },

  compare(target, targetStart, targetEnd, sourceStart, sourceEnd) {
    if (!isUint8Array(target)) throw invalidArgType('target', ['Buffer', 'Uint8Array'], target);
    if (arguments.length === 1) return compareBytes(this, target);
    const range = (value, name, max, fallback) => {
      if (value === undefined) return fallback;
      validateInteger(value, name, 0, max);
      return value;
    };
    const fromTarget = range(targetStart, 'targetStart', undefined, 0);
    const toTarget = range(targetEnd, 'targetEnd', target.length, target.length);
    const from = range(sourceStart, 'sourceStart', undefined, 0);
    const to = range(sourceEnd, 'sourceEnd', this.length, this.length);
    if (from >= to) return fromTarget >= toTarget ? 0 : -1;
    if (fromTarget >= toTarget) return 1;
    const part = Uint8Array.prototype.subarray;
    return compareBytes(part.call(this, from, to), part.call(target, fromTarget, toTarget));
  },

  indexOf(value, byteOffset, encoding) {
    return search(this, value, byteOffset, encoding, true);
  },

  lastIndexOf(value, byteOffset, encoding) {
    return search(this, value, byteOffset, encoding, false);
  },

  includes(value, byteOffset, encoding) {
    return search(this, value, byteOffset, encoding, true) !== -1;
  },

  fill(value, offset, end, encoding) {
    if (typeof value === 'string') {
      if (offset === undefined || typeof offset === 'string') {
        encoding = offset;
        offset = undefined;
      } else if (typeof end === 'string') {
        encoding = end;
        end = undefined;
      }
      if (encoding !== undefined) validateString(encoding, 'encoding');
      const codec = codecFor(encoding);
      if (codec === undefined) throw unknownEncoding(encoding);
      if (value === '') value = 0;
      else if (value.length === 1 && value.charCodeAt(0) < 128 && (codec === utf8 || codec.name === 'latin1')) value = value.charCodeAt(0);
    }
    if (offset !== undefined) validateNumber(offset, 'offset', 0);
    if (offset !== undefined && end !== undefined) validateNumber(end, 'end', 0, this.length);
    const from = Math.trunc(offset ?? 0);
    const to = offset === undefined || end === undefined ? this.length : Math.trunc(end);
    if (from >= to) return this;
    if (typeof value === 'number' || typeof value === 'boolean') {
      Uint8Array.prototype.fill.call(this, +value & 255, from, to);
      return this;
    }
    const pattern =
      typeof value === 'string' ? codecFor(encoding).encode(value) : ArrayBuffer.isView(value) ? asBuffer(value) : Uint8Array.of(+value & 255);
    if (pattern.length === 0) throw invalidArgValue('value', value);
    for (let at = from; at < to; at += pattern.length) {
      this.set(at + pattern.length <= to ? pattern : pattern.subarray(0, to - at), at);
    }
    return this;
  },

  write(string, offset, length, encoding) {
    if (typeof string !== 'string') throw nodeError(TypeError, 'ERR_INVALID_ARG_TYPE', 'argument must be a string');
    if (offset === undefined) return utf8.write(string, this, 0, this.length);
    if (length === undefined && typeof offset === 'string') {
      encoding = offset;
      length = this.length;
      offset = 0;
    } else {
      validateInteger(offset, 'offset', 0, this.length);
      const rest = this.length - offset;
      if (length === undefined) {
        length = rest;
      } else if (typeof length === 'string') {
        encoding = length;
        length = rest;
      } else {
        validateInteger(length, 'length', 0, this.length);
        if (length > rest) length = rest;
      }
    }
    const codec = encoding ? codecFor(encoding) : utf8;
    if (codec === undefined) throw unknownEncoding(encoding);
    return codec.write(string, this, offset, length);
  },

  toJSON() {
    return { type: 'Buffer', data: Array.from(this) };
  },

  subarray(start, end) {
    const integer = (value, fallback) => {
      if (value === undefined) return fallback;
      value = Math.trunc(+value) || 0;
      return value < 0 ? Math.max(0, value + this.length) : Math.min(value, this.length);
    };
    const from = integer(start, 0);
    const to = integer(end, this.length);
    return new FastBuffer(this.buffer, this.byteOffset + from, Math.max(0, to - from));
  },

  slice(start, end) {
    return this.subarray(start, end);
  },

  ...numbers,
};

for (const name of ['ascii', 'base64', 'base64url', 'latin1', 'hex', 'ucs2', 'utf8']) {
  const codec = codecFor(name);
  prototype[`${name}Slice`] = function (start, end) {
    return codec.decode(this, clip(start, this.length, 0), Math.max(clip(start, this.length, 0), clip(end, this.length, this.length)));
  };
  prototype[`${name}Write`] = function (string, offset = 0, length = this.length - offset) {
    return codec.write(string, this, offset, Math.min(length, this.length - offset));
  };
}

Object.defineProperties(Buffer.prototype, Object.getOwnPropertyDescriptors(prototype));
Object.defineProperty(Buffer.prototype, 'toLocaleString', { value: Buffer.prototype.toString, writable: true, enumerable: true, configurable: true });
Object.defineProperty(Buffer.prototype, 'inspect', { value: Buffer.prototype[inspect.custom], writable: true, enumerable: true, configurable: true });
