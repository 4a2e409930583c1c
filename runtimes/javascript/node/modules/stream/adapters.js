// Between Node's streams and web streams.

import '../../globals/early.js';
import './errors.js';
import stream from 'readable-stream/lib/stream.js';
import { AbortError, invalidArgType } from '../../internal/errors.js';
import { Buffer } from '../buffer/buffer.js';
import { CountQueuingStrategy, ReadableStream, WritableStream } from '../../globals/streams.js';

const { Duplex, finished, Readable, Writable } = stream;

const isReadableStream = (value) => typeof value?.getReader === 'function';
const isWritableStream = (value) => typeof value?.getWriter === 'function';

export function readableFromWeb(readableStream, options = {}) {
  if (!isReadableStream(readableStream)) throw invalidArgType('readableStream', 'ReadableStream', readableStream);
  const reader = readableStream.getReader();
  let closed = false;
  reader.closed.then(
    () => (closed = true),
    (error) => readable.destroy(error),
  );
  const readable = new Readable({
    ...options,
    read() {
      reader.read().then(
        ({ done, value }) => readable.push(done ? null : value),
        (error) => readable.destroy(error),
      );
    },
    destroy(error, callback) {
      const finish = () => callback(error);
      if (closed) finish();
      else reader.cancel(error).then(finish, finish);
    },
  });
  return readable;
}

export function readableToWeb(readable, options = {}) {
  if (typeof readable?._readableState !== 'object') throw invalidArgType('streamReadable', 'stream.Readable', readable);
  const objectMode = readable.readableObjectMode;
  const strategy =
    options.strategy ??
    (objectMode
      ? new CountQueuingStrategy({ highWaterMark: readable.readableHighWaterMark })
      : { highWaterMark: readable.readableHighWaterMark, size: (chunk) => chunk.byteLength ?? chunk.length });
  return new ReadableStream(
    {
      start(controller) {
        readable.pause();
        readable.on('data', (chunk) => {
          controller.enqueue(typeof chunk === 'string' || objectMode ? chunk : new Uint8Array(chunk));
          if (controller.desiredSize <= 0) readable.pause();
        });
        const cleanup = finished(readable, (error) => {
          cleanup();
          readable.on('error', () => {});
          if (error?.code === 'ERR_STREAM_PREMATURE_CLOSE') controller.error(new AbortError(undefined, { cause: error }));
          else if (error) controller.error(error);
          else controller.close();
        });
      },
      pull() {
        readable.resume();
      },
      cancel(reason) {
        readable.destroy(reason);
      },
    },
    strategy,
  );
}

export function writableFromWeb(writableStream, options = {}) {
  if (!isWritableStream(writableStream)) throw invalidArgType('writableStream', 'WritableStream', writableStream);
  const writer = writableStream.getWriter();
  let closed = false;
  writer.closed.then(
    () => (closed = true),
    (error) => writable.destroy(error),
  );
  const writable = new Writable({
    ...options,
    write(chunk, encoding, callback) {
      if (typeof chunk === 'string' && options.decodeStrings !== false && !options.objectMode) chunk = Buffer.from(chunk, encoding);
      writer.ready.then(() => writer.write(chunk)).then(() => callback(), callback);
    },
    final(callback) {
      writer.close().then(() => callback(), callback);
    },
    destroy(error, callback) {
      const finish = () => callback(error);
      if (closed) finish();
      else if (error) writer.abort(error).then(finish, finish);
      else writer.close().then(finish, finish);
    },
  });
  return writable;
}

export function writableToWeb(writable) {
  if (typeof writable?._writableState !== 'object') throw invalidArgType('streamWritable', 'stream.Writable', writable);
  return new WritableStream({
    start(controller) {
      const cleanup = finished(writable, { readable: false }, (error) => {
        cleanup();
        writable.on('error', () => {});
        if (error) controller.error(error);
      });
    },
    write(chunk) {
      if (writable.writableNeedDrain || !writable.write(chunk)) {
        return new Promise((resolve) => writable.once('drain', resolve));
      }
      return undefined;
    },
    abort(reason) {
      writable.destroy(reason);
    },
    close() {
      return new Promise((resolve, reject) => {
        writable.once('error', reject);
        writable.end(() => resolve());
      });
    },
  });
}

export function duplexFromWeb(pair, options = {}) {
  if (!isReadableStream(pair?.readable) || !isWritableStream(pair?.writable)) throw invalidArgType('pair', 'ReadableWritablePair', pair);
  const readable = readableFromWeb(pair.readable, options);
  const writable = writableFromWeb(pair.writable, options);
  return Duplex.from({ readable, writable });
}

export function duplexToWeb(duplex) {
  if (typeof duplex?._readableState !== 'object' || typeof duplex?._writableState !== 'object')
    throw invalidArgType('duplex', 'stream.Duplex', duplex);
  return { readable: readableToWeb(duplex), writable: writableToWeb(duplex) };
}
