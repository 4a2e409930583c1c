// `process.stdin`, `process.stdout`, `process.stderr`: streams over the descriptors 0, 1 and 2. Writing is synchronous,
// as it is in Node for files; nothing of a script's output is lost when it ends by an error or by `process.exit`.

import { binding } from './binding.js';
import { countInput, onInput } from './loop.js';
import { process } from './process.js';
import { nextTick } from './task.js';
import { EIO, EPIPE, uvException } from './uv.js';
import { Buffer } from '../modules/buffer.js';
import stream from '../modules/stream.js';

const { Readable, Writable } = stream;
const EAGAIN = -11;
const CHUNK = 65536;

/** Writes all of the bytes; a negative errno if that fails. */
export function writeAll(fd, bytes) {
  let written = 0;
  while (written < bytes.length) {
    const count = binding.write(fd, bytes, written, bytes.length - written, -1);
    if (count < 0 && count !== EAGAIN) return count;
    if (count > 0) written += count;
  }
  return 0;
}

export function writeText(fd, text) {
  return binding.writeText(fd, text.isWellFormed() ? text : text.toWellFormed());
}

const isUtf8 = (encoding) => encoding === undefined || encoding === null || encoding === 'utf8' || encoding === 'utf-8';

class Output extends Writable {
  constructor(fd) {
    super({ decodeStrings: false, emitClose: false, autoDestroy: false });
    this.fd = fd;
    this._type = 'fs';
    this._isStdio = true;
  }

  // The short way, while nothing is held back: the stream's own bookkeeping costs more than the write.
  write(chunk, encoding, callback) {
    if (typeof chunk !== 'string' || typeof encoding === 'function' || callback !== undefined || !isUtf8(encoding) ||
        this.writableCorked || this.writableLength > 0 || this.writableEnded || this.destroyed || this.errored) {
      return super.write(chunk, encoding, callback);
    }
    const result = writeText(this.fd, chunk);
    if (result >= 0) return true;
    nextTick((error) => this.emit('error', error), this.#failed(result));
    return false;
  }

  // These streams fail only when their reader is gone. A script without a listener ends by this error at once: one that
  // prints in a loop would never come to an event, and nobody reads what it prints.
  #failed(errno) {
    const error = uvException(errno === EIO ? EPIPE : errno, 'write');
    if (this.listenerCount('error') === 0) throw error;
    return error;
  }

  _write(chunk, encoding, callback) {
    const result = typeof chunk !== 'string' ? writeAll(this.fd, chunk)
      : isUtf8(encoding) ? writeText(this.fd, chunk)
        : writeAll(this.fd, Buffer.from(chunk, encoding));
    callback(result < 0 ? this.#failed(result) : null);
  }

  // Like Node's: ending or destroying it leaves the descriptor open.
  _destroy(error, callback) {
    callback(error);
  }

  destroySoon() {
    this.destroy();
  }
}

class Input extends Readable {
  #wanted = false;

  constructor() {
    super({ highWaterMark: CHUNK });
    this.fd = 0;
    this.on('pause', () => this.#update());
    this.on('resume', () => this.#update());
  }

  _read() {
    this.#wanted = true;
    this.#update();
  }

  // A paused stream asks for nothing, so that it does not keep the script alive.
  #update() {
    const isAsking = this.#wanted && !(this.isPaused() && this.listenerCount('readable') === 0);
    onInput(isAsking ? () => this.#take() : null);
  }

  #take() {
    const bytes = Buffer.allocUnsafeSlow(CHUNK);
    const count = binding.read(0, bytes, 0, CHUNK, -1);
    if (count === EAGAIN) {
      this.#update();
      return;
    }
    this.#wanted = false;
    if (count < 0) this.destroy(uvException(count, 'read'));
    else this.push(count === 0 ? null : bytes.subarray(0, count));
  }

  _destroy(error, callback) {
    onInput(null);
    callback(error);
  }

  ref() {
    countInput(true);
    return this;
  }

  unref() {
    countInput(false);
    return this;
  }
}

function define(name, make) {
  let made;
  Object.defineProperty(process, name, {
    get() {
      made ??= make();
      return made;
    },
    set(value) {
      made = value;
    },
    enumerable: true,
    configurable: true,
  });
}

// Made for the snapshot: nearly every script prints.
const stdout = new Output(1);
const stderr = new Output(2);
define('stdout', () => stdout);
define('stderr', () => stderr);
define('stdin', () => new Input());
