// The stream classes of node:zlib.

import { invalidArgType, nodeError, outOfRange } from '../../internal/errors.js';
import { defer } from '../../internal/task.js';
import { MAX_LENGTH, asBuffer, Buffer } from '../buffer/buffer.js';
import stream from '../stream.js';
import { classOf } from '../util/types.js';
import { constants } from './constants.js';
import { Engine, isCompressing } from './engine.js';

const { Transform } = stream;
const { Z_FINISH, Z_FULL_FLUSH, Z_NO_FLUSH, Z_SYNC_FLUSH } = constants;

function checked(value, name, min, max, fallback) {
  if (value === undefined || Number.isNaN(value)) return fallback;
  if (typeof value !== 'number') throw invalidArgType(name, 'number', value);
  if (value < min || value > max) throw outOfRange(name, max === Infinity ? `>= ${min}` : `>= ${min} and <= ${max}`, value);
  return value;
}

/** The options with Node's defaults and checks. */
export function settingsFor(mode, options = {}) {
  const compressing = isCompressing(mode);
  // A window of 0 lets the header of the data decide.
  const zeroAllowed = mode === constants.INFLATE || mode === constants.GUNZIP || mode === constants.UNZIP;
  const chunkSize = checked(options?.chunkSize, 'options.chunkSize', constants.Z_MIN_CHUNK, Infinity, constants.Z_DEFAULT_CHUNK);
  const flush = checked(options?.flush, 'options.flush', Z_NO_FLUSH, constants.Z_BLOCK, Z_NO_FLUSH);
  const finishFlush = checked(options?.finishFlush, 'options.finishFlush', Z_NO_FLUSH, constants.Z_BLOCK, Z_FINISH);
  const maxOutputLength = checked(options?.maxOutputLength, 'options.maxOutputLength', 1, MAX_LENGTH, MAX_LENGTH);
  let windowBits = constants.Z_DEFAULT_WINDOWBITS;
  if (!((options?.windowBits == null || options.windowBits === 0) && zeroAllowed)) {
    windowBits = checked(options?.windowBits, 'options.windowBits', mode === constants.GZIP ? 9 : 8, constants.Z_MAX_WINDOWBITS, windowBits);
  }
  const level = checked(options?.level, 'options.level', constants.Z_MIN_LEVEL, constants.Z_MAX_LEVEL, constants.Z_DEFAULT_COMPRESSION);
  const memLevel = checked(options?.memLevel, 'options.memLevel', constants.Z_MIN_MEMLEVEL, constants.Z_MAX_MEMLEVEL, constants.Z_DEFAULT_MEMLEVEL);
  const strategy = checked(options?.strategy, 'options.strategy', constants.Z_DEFAULT_STRATEGY, constants.Z_FIXED, constants.Z_DEFAULT_STRATEGY);
  let dictionary = options?.dictionary;
  if (dictionary !== undefined && !ArrayBuffer.isView(dictionary)) {
    if (classOf(dictionary) !== 'ArrayBuffer')
      throw invalidArgType('options.dictionary', ['Buffer', 'TypedArray', 'DataView', 'ArrayBuffer'], dictionary);
    dictionary = new Uint8Array(dictionary);
  }
  if (dictionary) dictionary = bytesOf(dictionary);
  return {
    chunkSize,
    flush,
    finishFlush,
    maxOutputLength,
    windowBits: compressing && windowBits === 8 ? 9 : windowBits,
    level,
    memLevel,
    strategy,
    dictionary,
    info: options?.info,
  };
}

export function bytesOf(view) {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

export function ZlibBase(options, mode) {
  const settings = settingsFor(mode, options);
  Transform.call(this, { autoDestroy: true, ...options });
  this.bytesWritten = 0;
  this._chunkSize = settings.chunkSize;
  this._level = settings.level;
  this._strategy = settings.strategy;
  this._mode = mode;
  states.set(this, { engine: new Engine(mode, settings), settings, made: 0, mode });
}
Object.setPrototypeOf(ZlibBase.prototype, Transform.prototype);
Object.setPrototypeOf(ZlibBase, Transform);

const states = new WeakMap();

export function tooLarge(max) {
  return nodeError(RangeError, 'ERR_BUFFER_TOO_LARGE', `Cannot create a Buffer larger than ${max} bytes`);
}

/** Runs in a later turn, as Node's threads would, and hands the output on. */
function work(self, input, flush, callback) {
  const state = states.get(self);
  defer(
    () => state.engine.run(input, flush),
    (error, parts) => {
      if (self.destroyed) return;
      if (error) {
        self.destroy(error);
        callback(error);
        return;
      }
      self.bytesWritten += input.length - (state.engine.ended ? state.engine.unread : 0);
      for (const part of parts) {
        state.made += part.length;
        if (state.made > state.settings.maxOutputLength) {
          const failure = tooLarge(state.settings.maxOutputLength);
          self.destroy(failure);
          callback(failure);
          return;
        }
        self.push(asBuffer(part));
      }
      callback();
    },
  );
}

ZlibBase.prototype._transform = function (chunk, encoding, callback) {
  const state = states.get(this);
  // Node puts the last chunk and the end together; the bytes are the same either way.
  work(this, bytesOf(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk), state.settings.flush, callback);
};

ZlibBase.prototype._flush = function (callback) {
  const state = states.get(this);
  if (state.engine.ended && !isCompressing(state.mode)) {
    callback();
    return;
  }
  if (!isCompressing(state.mode) && !state.engine.started) {
    callback();
    return;
  }
  work(this, new Uint8Array(0), state.settings.finishFlush, callback);
};

ZlibBase.prototype.flush = function (kind, callback) {
  if (typeof kind === 'function' || (kind === undefined && !callback)) {
    callback = kind;
    kind = Z_FULL_FLUSH;
  }
  if (this.writableFinished) {
    if (callback) queueMicrotask(callback);
  } else if (this.writableEnded) {
    if (callback) this.once('end', callback);
  } else {
    this.write(Buffer.alloc(0), () => work(this, new Uint8Array(0), kind ?? Z_SYNC_FLUSH, () => callback?.()));
  }
};

ZlibBase.prototype.reset = function () {
  states.get(this).engine.reset();
};

ZlibBase.prototype.params = function (level, strategy, callback) {
  checked(level, 'level', constants.Z_MIN_LEVEL, constants.Z_MAX_LEVEL);
  checked(strategy, 'strategy', constants.Z_DEFAULT_STRATEGY, constants.Z_FIXED);
  callback?.(nodeError(Error, 'ERR_METHOD_NOT_IMPLEMENTED', 'zlib.params is not implemented in the sandbox'));
};

ZlibBase.prototype.close = function (callback) {
  if (callback) stream.finished(this, callback);
  this.destroy();
};

Object.defineProperty(ZlibBase.prototype, '_closed', {
  get() {
    return this.destroyed;
  },
  configurable: true,
  enumerable: true,
});

/** A class as Node makes them: callable with and without `new`. */
export function streamClass(name, mode) {
  const Class = {
    [name]: function (options) {
      if (!(this instanceof Class)) return new Class(options);
      ZlibBase.call(this, options, mode);
      return undefined;
    },
  }[name];
  Object.setPrototypeOf(Class.prototype, ZlibBase.prototype);
  Object.setPrototypeOf(Class, ZlibBase);
  return Class;
}
