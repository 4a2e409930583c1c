// `FileHandle`: what `fs.promises.open` gives.

import { AbortError, nodeError } from '../errors.js';
import { promised } from '../task.js';
import { EBADF, uvException } from '../uv.js';
import { isView, toOptions } from './arguments.js';
import { contents } from './content.js';
import * as files from './descriptors.js';
import { operations } from './operations.js';
import { ReadStream, WriteStream } from './streams.js';
import { EventEmitter } from '../../modules/events.js';
import { Buffer } from '../../modules/buffer.js';

export class FileHandle extends EventEmitter {
  #fd;
  #closing = null;

  constructor(fd) {
    super();
    this.#fd = fd;
  }

  get fd() {
    return this.#fd;
  }

  getAsyncId() {
    return 0;
  }

  /** An operation on the open file. */
  #do(table, name, ...args) {
    if (this.#fd === -1) return Promise.reject(Object.assign(uvException(EBADF, name), { message: 'file closed', syscall: name }));
    let work;
    try {
      work = table[name](this.#fd, ...args);
    } catch (error) {
      return Promise.reject(error);
    }
    return promised(work);
  }

  async read(buffer, offset, length, position) {
    let options = buffer;
    if (isView(buffer)) options = offset !== null && typeof offset === 'object' ? { buffer, ...offset } : { buffer, offset, length, position };
    const target = options?.buffer ?? Buffer.alloc(16384);
    const bytesRead = await this.#do(operations, 'read', target, options?.offset ?? 0, options?.length, options?.position ?? null);
    return { __proto__: null, bytesRead: bytesRead ?? 0, buffer: target };
  }

  async write(data, offset, length, position) {
    const bytesWritten = await this.#do(operations, 'write', data, offset, length, position);
    return { __proto__: null, bytesWritten: bytesWritten ?? 0, buffer: data };
  }

  async readv(buffers, position) {
    return { __proto__: null, bytesRead: await this.#do(operations, 'readv', buffers, position) ?? 0, buffers };
  }

  async writev(buffers, position) {
    return { __proto__: null, bytesWritten: await this.#do(operations, 'writev', buffers, position) ?? 0, buffers };
  }

  readFile(options) {
    return this.#do(contents, 'readFile', options);
  }

  async writeFile(data, options) {
    if (typeof data !== 'string' && !isView(data) && (data?.[Symbol.iterator] || data?.[Symbol.asyncIterator])) {
      await writeAll(this, data, toOptions(options, { encoding: 'utf8' }));
      return;
    }
    await this.#do(contents, 'writeFile', data, options);
  }

  appendFile(data, options) {
    return this.writeFile(data, options);
  }

  stat(options) {
    return this.#do(operations, 'fstat', options);
  }

  truncate(length) {
    return this.#do(operations, 'ftruncate', length);
  }

  utimes(atime, mtime) {
    return this.#do(operations, 'futimes', atime, mtime);
  }

  chmod(mode) {
    return this.#do(operations, 'fchmod', mode);
  }

  chown(uid, gid) {
    return this.#do(operations, 'fchown', uid, gid);
  }

  sync() {
    return this.#do(operations, 'fsync');
  }

  datasync() {
    return this.#do(operations, 'fdatasync');
  }

  close() {
    if (this.#fd === -1) return this.#closing ?? Promise.resolve();
    const fd = this.#fd;
    this.#fd = -1;
    this.#closing = promised(() => {
      const result = files.close(fd);
      if (result < 0) throw uvException(result, 'close');
    }).finally(() => {
      this.#closing = null;
      this.emit('close');
    });
    return this.#closing;
  }

  createReadStream(options) {
    return new ReadStream(undefined, { ...options, fd: this });
  }

  createWriteStream(options) {
    return new WriteStream(undefined, { ...options, fd: this });
  }

  readLines(options) {
    // Now: readline itself stands on streams.
    const { createInterface } = globalThis.process.getBuiltinModule('readline');
    return createInterface({ input: this.createReadStream(options), crlfDelay: Infinity });
  }

  readableWebStream() {
    const handle = this;
    if (this.#fd === -1) throw nodeError(Error, 'ERR_INVALID_STATE', 'Invalid state: The FileHandle is closed');
    return new ReadableStream({
      type: 'bytes',
      async pull(controller) {
        const { bytesRead, buffer } = await handle.read(new Uint8Array(65536));
        if (bytesRead === 0) controller.close();
        else controller.enqueue(buffer.subarray(0, bytesRead));
      },
    });
  }

  async [Symbol.asyncDispose]() {
    await this.close();
  }
}

/** What comes out of an iterable, written as it comes. */
export async function writeAll(handle, data, { encoding, signal }) {
  for await (const chunk of data) {
    if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
    await handle.write(isView(chunk) ? chunk : Buffer.from(chunk, encoding || 'utf8'));
  }
}
