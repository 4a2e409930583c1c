// node:stream: the package readable-stream, brought up to what Node has added since.

import '../globals/early.js';
import './stream/errors.js';
import stream from 'readable-stream/lib/stream.js';
import { asBuffer } from './buffer/buffer.js';
import process from './process.js';
import { duplexFromWeb, duplexToWeb, readableFromWeb, readableToWeb, writableFromWeb, writableToWeb } from './stream/adapters.js';

const { Duplex, Readable, Writable } = stream;

// Node's buffers since v22, larger than the package's.
stream.setDefaultHighWaterMark(false, 65536);

Readable.fromWeb = readableFromWeb;
Readable.toWeb = readableToWeb;
Writable.fromWeb = writableFromWeb;
Writable.toWeb = writableToWeb;
Duplex.fromWeb = duplexFromWeb;
Duplex.toWeb = duplexToWeb;
delete Readable.prototype.asIndexedPairs;

/** One side of a pair: what is written here is read on the other side. */
class PairSide extends Duplex {
  other = null;
  #written = null;

  _read() {
    const callback = this.#written;
    this.#written = null;
    callback?.();
  }

  _write(chunk, encoding, callback) {
    if (chunk.length === 0) {
      process.nextTick(callback);
      return;
    }
    this.other.push(chunk);
    this.other.#written = callback;
  }

  _final(callback) {
    this.other.on('end', callback);
    this.other.push(null);
  }
}

stream.duplexPair = function duplexPair(options) {
  const first = new PairSide(options);
  const second = new PairSide(options);
  first.other = second;
  second.other = first;
  return [first, second];
};

// Node takes every view of memory where the package takes Uint8Array.
stream._isArrayBufferView = ArrayBuffer.isView;
stream._isUint8Array = ArrayBuffer.isView;
stream._uint8ArrayToBuffer = asBuffer;

export { Duplex, Readable, Writable };
export default stream;
