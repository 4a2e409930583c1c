// Files as streams.

import { AbortError, invalidArgType, invalidState, outOfRange } from '../errors.js';
import { defer } from '../task.js';
import { uvException } from '../uv.js';
import { validateBoolean, validateFunction, validateInteger } from '../validators.js';
import { toFd, toFlags, toMode, toOptions, toPath } from './arguments.js';
import * as files from './descriptors.js';
import { Buffer } from '../../modules/buffer.js';
import stream from '../../modules/stream.js';

const { Readable, Writable, finished } = stream;
const CHUNK = 64 * 1024;

/** What both kinds of stream do with their file. `options.fs` may bring its own functions, as in Node. */
function prepare(self, path, options, flags) {
  self.fd = null;
  self.path = null;
  self._handle = null;
  if (options.fd === undefined || options.fd === null) {
    self.path = toPath(path);
    self.flags = options.flags ?? flags;
    self.mode = options.mode ?? 0o666;
    toFlags(self.flags);
    toMode(self.mode, 'mode');
  } else if (typeof options.fd === 'number') {
    self.fd = toFd(options.fd);
  } else if (typeof options.fd === 'object' && typeof options.fd.fd === 'number') {
    self._handle = options.fd;
    self.fd = options.fd.fd;
    options.fd.on?.('close', () => self.destroy());
  } else {
    throw invalidArgType('fd', ['number', 'FileHandle'], options.fd);
  }
  self.start = options.start;
  self.pos = undefined;
  self.closed_ = false;
  if (self.start !== undefined) {
    validateInteger(self.start, 'start', 0);
    self.pos = self.start;
  }
  Object.defineProperty(self, 'closed_', { enumerable: false });
  if (options.fs !== undefined) {
    for (const name of ['open', 'close']) {
      if (options.fs[name] !== undefined) validateFunction(options.fs[name], `options.fs.${name}`);
    }
  }
}

function open(self, callback) {
  if (self.fd !== null) {
    callback();
    return;
  }
  defer(() => files.openOrThrow(self.path, toFlags(self.flags)), (error, fd) => {
    if (error) {
      callback(error);
      return;
    }
    self.fd = fd;
    callback();
    self.emit('open', fd);
    self.emit('ready');
  });
}

function close(self, error, callback) {
  if (self.fd === null || self.closed_) {
    callback(error);
    return;
  }
  self.closed_ = true;
  const { fd, _handle: handle } = self;
  self.fd = null;
  if (handle) {
    handle.close().then(() => callback(error), (failure) => callback(error ?? failure));
    return;
  }
  defer(() => {
    const result = files.close(fd);
    if (result < 0) throw uvException(result, 'close');
  }, (failure) => callback(error ?? failure));
}

function withSignal(self, signal) {
  if (!signal) return;
  const abort = () => self.destroy(new AbortError(undefined, { cause: signal.reason }));
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
}

export function ReadStream(path, options) {
  if (!new.target) return new ReadStream(path, options);
  const wanted = toOptions(options, { highWaterMark: CHUNK, emitClose: true, autoClose: true });
  prepare(this, path, wanted, 'r');
  this.end = wanted.end ?? Infinity;
  if (this.end !== Infinity) {
    validateInteger(this.end, 'end', 0);
    if (this.start !== undefined && this.start > this.end) throw outOfRange('start', `<= "end" (here: ${this.end})`, this.start);
  }
  this.bytesRead = 0;
  Reflect.apply(Readable, this, [{ highWaterMark: wanted.highWaterMark, emitClose: wanted.emitClose, autoDestroy: wanted.autoClose, encoding: wanted.encoding ?? undefined }]);
  withSignal(this, wanted.signal);
}
Object.setPrototypeOf(ReadStream.prototype, Readable.prototype);
Object.setPrototypeOf(ReadStream, Readable);

ReadStream.prototype._construct = function _construct(callback) {
  open(this, callback);
};

ReadStream.prototype._read = function _read(n) {
  const left = this.end - (this.pos ?? this.bytesRead) + 1;
  const length = Math.min(left, n);
  if (length <= 0) {
    this.push(null);
    return;
  }
  const buffer = Buffer.allocUnsafeSlow(length);
  const position = this.pos ?? -1;
  defer(() => {
    if (this.fd === null) return -1;
    const count = files.read(this.fd, buffer, 0, length, position);
    if (count < 0) throw uvException(count, 'read');
    return count;
  }, (error, count) => {
    if (this.destroyed) return;
    if (error) {
      this.destroy(error);
      return;
    }
    if (count > 0) {
      this.bytesRead += count;
      if (this.pos !== undefined) this.pos += count;
    }
    this.push(count > 0 ? buffer.subarray(0, count) : null);
  });
};

ReadStream.prototype._destroy = function _destroy(error, callback) {
  close(this, error, callback);
};

ReadStream.prototype.close = function closeStream(callback) {
  if (callback) finished(this, callback);
  this.destroy();
};

export function WriteStream(path, options) {
  if (!new.target) return new WriteStream(path, options);
  const wanted = toOptions(options, { emitClose: true, autoClose: true, flush: false });
  prepare(this, path, wanted, 'w');
  validateBoolean(wanted.flush, 'options.flush');
  this.bytesWritten = 0;
  Reflect.apply(Writable, this, [{
    highWaterMark: wanted.highWaterMark ?? 16384, emitClose: wanted.emitClose, autoDestroy: wanted.autoClose, decodeStrings: true,
    defaultEncoding: wanted.encoding ?? 'utf8',
  }]);
  withSignal(this, wanted.signal);
}
Object.setPrototypeOf(WriteStream.prototype, Writable.prototype);
Object.setPrototypeOf(WriteStream, Writable);

WriteStream.prototype._construct = function _construct(callback) {
  open(this, callback);
};

function write(self, chunks, callback) {
  defer(() => {
    if (self.fd === null) throw invalidState('the file is closed');
    for (const chunk of chunks) {
      const count = files.write(self.fd, chunk, 0, chunk.length, self.pos ?? -1);
      if (count < 0) throw uvException(count, 'write');
      self.bytesWritten += count;
      if (self.pos !== undefined) self.pos += count;
    }
  }, callback);
}

WriteStream.prototype._write = function _write(chunk, encoding, callback) {
  write(this, [chunk], callback);
};

WriteStream.prototype._writev = function _writev(entries, callback) {
  write(this, entries.map((entry) => entry.chunk), callback);
};

WriteStream.prototype._destroy = ReadStream.prototype._destroy;

WriteStream.prototype.close = function closeStream(callback) {
  if (callback) {
    if (this.closed) {
      queueMicrotask(callback);
      return;
    }
    this.on('close', callback);
  }
  if (!this.autoClose) this.on('finish', this.destroy);
  this.end();
};
WriteStream.prototype.destroySoon = WriteStream.prototype.end;

for (const Class of [ReadStream, WriteStream]) {
  Object.defineProperty(Class.prototype, 'pending', {
    get() {
      return this.fd === null;
    },
    configurable: true,
  });
  Object.defineProperty(Class.prototype, 'autoClose', {
    get() {
      return (this._readableState ?? this._writableState).autoDestroy;
    },
    set(value) {
      (this._readableState ?? this._writableState).autoDestroy = value;
    },
    configurable: true,
  });
}
