// CompressionStream and DecompressionStream.

import { nodeError } from '../internal/errors.js';
import zlib from '../modules/zlib.js';
import { duplexToWeb } from '../modules/stream/adapters.js';
import { exposed } from './event_target.js';

function pairFor(format, makers, name) {
  format = `${format}`;
  const make = makers[format];
  if (!make) {
    throw nodeError(
      TypeError,
      'ERR_INVALID_ARG_VALUE',
      `Failed to construct '${name}': 1st argument '${format}' is not a valid enum value of type CompressionFormat.`,
    );
  }
  return duplexToWeb(make());
}

export class CompressionStream {
  #pair;

  constructor(format) {
    this.#pair = pairFor(
      format,
      {
        __proto__: null,
        deflate: zlib.createDeflate,
        'deflate-raw': zlib.createDeflateRaw,
        gzip: zlib.createGzip,
        brotli: zlib.createBrotliCompress,
      },
      'CompressionStream',
    );
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
    this.#pair = pairFor(
      format,
      {
        __proto__: null,
        deflate: zlib.createInflate,
        'deflate-raw': zlib.createInflateRaw,
        gzip: zlib.createGunzip,
        brotli: zlib.createBrotliDecompress,
      },
      'DecompressionStream',
    );
  }

  get readable() {
    return this.#pair.readable;
  }

  get writable() {
    return this.#pair.writable;
  }
}
exposed(DecompressionStream.prototype, ['readable', 'writable'], 'DecompressionStream');
