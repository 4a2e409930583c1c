// CompressionStream and DecompressionStream.

import { invalidArgValue } from '../internal/errors.js';
import zlib from '../modules/zlib.js';
import { duplexToWeb } from '../modules/stream/adapters.js';
import { exposed } from './event_target.js';

function pairFor(format, makers) {
  format = `${format}`;
  const make = makers[format];
  if (!make) throw invalidArgValue('format', format, "must be one of: 'deflate', 'deflate-raw', 'gzip', 'brotli'");
  return duplexToWeb(make());
}

export class CompressionStream {
  #pair;

  constructor(format) {
    this.#pair = pairFor(format, { __proto__: null, deflate: zlib.createDeflate, 'deflate-raw': zlib.createDeflateRaw, gzip: zlib.createGzip, brotli: zlib.createBrotliCompress });
  }

  get readable() {
    return this.#pair.readable;
  }

  get writable() {
    return this.#pair.writable;
  }
}
exposed(CompressionStream.prototype, ['readable', 'writable'], 'CompressionStream');

export class DecompressionStream {
  #pair;

  constructor(format) {
    this.#pair = pairFor(format, { __proto__: null, deflate: zlib.createInflate, 'deflate-raw': zlib.createInflateRaw, gzip: zlib.createGunzip, brotli: zlib.createBrotliDecompress });
  }

  get readable() {
    return this.#pair.readable;
  }

  get writable() {
    return this.#pair.writable;
  }
}
exposed(DecompressionStream.prototype, ['readable', 'writable'], 'DecompressionStream');
