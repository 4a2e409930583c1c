// Arguments of `fs`, checked as Node checks them.

import { invalidArgType, invalidArgValue, nodeError, outOfRange } from '../errors.js';
import { validateAbortSignal, validateFunction, validateInteger, validateUint32 } from '../validators.js';
import { FLAGS } from './constants.js';
import { Buffer } from '../../modules/buffer.js';
import { fileURLToPath } from '../../modules/url/files.js';

/** A path given as text, as bytes, or as a `file:` URL. */
export function toPath(value, name = 'path') {
  let path = value;
  if (value !== null && typeof value === 'object') {
    if (value instanceof Uint8Array) path = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString();
    else if (typeof value.href === 'string' && typeof value.protocol === 'string') path = fileURLToPath(value);
  }
  if (typeof path !== 'string') throw invalidArgType(name, ['string', 'Buffer', 'URL'], value);
  if (path.includes('\0')) throw invalidArgValue(name, value, 'must be a string, Uint8Array, or URL without null bytes');
  return path;
}

export function toFd(value, name = 'fd') {
  validateInteger(value, name, 0, 2147483647);
  return value;
}

const isFd = (value) => typeof value === 'number';

/** Either a descriptor or a path. */
export function toTarget(value) {
  return isFd(value) ? { fd: toFd(value) } : { path: toPath(value) };
}

export function toFlags(flags, name = 'flags') {
  if (typeof flags === 'number') {
    validateInteger(flags, name, -2147483648, 2147483647);
    return flags;
  }
  if (flags === null || flags === undefined) return 0;
  const value = typeof flags === 'string' ? FLAGS[flags] : undefined;
  if (value === undefined) throw invalidArgValue('flags', flags);
  return value;
}

/** Modes have no effect here, and are checked all the same. */
export function toMode(mode, name, fallback) {
  mode ??= fallback;
  if (typeof mode === 'string') {
    if (!/^[0-7]+$/.test(mode)) throw invalidArgValue(name, mode, 'must be a 32-bit unsigned integer or an octal string');
    mode = parseInt(mode, 8);
  }
  validateUint32(mode, name);
  return mode;
}

export function checkEncoding(encoding) {
  if (encoding && encoding !== 'buffer' && !Buffer.isEncoding(encoding)) throw invalidArgValue('encoding', encoding, 'is invalid encoding');
}

/** Options given as an object, as the name of an encoding, or not at all. */
export function toOptions(options, defaults = {}) {
  if (options === null || options === undefined || typeof options === 'function') return defaults;
  if (typeof options === 'string') {
    checkEncoding(options);
    return { ...defaults, encoding: options };
  }
  if (typeof options !== 'object') throw invalidArgType('options', ['string', 'Object'], options);
  if (options.encoding !== 'buffer') checkEncoding(options.encoding);
  if (options.signal !== undefined) validateAbortSignal(options.signal, 'options.signal');
  return { ...defaults, ...options };
}

/** Text as an encoding wants it: names of files, targets of links. */
export function encoded(text, encoding) {
  if (!encoding || encoding === 'utf8' || encoding === 'utf-8') return text;
  const bytes = Buffer.from(text);
  return encoding === 'buffer' ? bytes : bytes.toString(encoding);
}

export const isView = (value) => ArrayBuffer.isView(value);

/** What is to be written, as bytes. */
export function toBytes(data, encoding, name = 'data') {
  if (isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (typeof data !== 'string') throw invalidArgType(name, ['string', 'Buffer', 'TypedArray', 'DataView'], data);
  return Buffer.from(data, encoding || 'utf8');
}

/** Seconds since 1970, from a number, a text or a Date. */
export function toSeconds(value) {
  if (typeof value === 'string' && value.trim() !== '' && !Number.isNaN(Number(value))) value = Number(value);
  if (typeof value === 'number' && Number.isFinite(value)) return value < 0 ? Date.now() / 1000 : value;
  if (value instanceof Date) return value.getTime() / 1000;
  throw invalidArgType('time', ['Date', 'Time in seconds'], value);
}

/** The place in a file for reading or writing: -1 is where the file stands. */
export function toPosition(position, name = 'position') {
  if (position === null || position === undefined || position === -1 || position === -1n) return -1;
  if (typeof position === 'bigint') {
    if (position < 0n || position > 2n ** 63n - 1n) throw outOfRange(name, `>= -1 && <= ${2n ** 63n - 1n}`, position);
    return Number(position);
  }
  if (typeof position !== 'number') throw invalidArgType(name, ['integer', 'bigint'], position);
  if (!Number.isInteger(position)) throw outOfRange(name, 'an integer', position);
  if (position < 0 || position > Number.MAX_SAFE_INTEGER) throw outOfRange(name, `>= -1 && <= ${Number.MAX_SAFE_INTEGER}`, position);
  return position;
}

export function toCallback(callback) {
  validateFunction(callback, 'cb');
  return callback;
}

export const notSupported = (what) => nodeError(Error, 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM',
  `The feature ${what} is unavailable on the current platform, which is being used to run Node.js`);
