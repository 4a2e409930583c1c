// One compressing or decompressing run of zlib, fed piece by piece.

import {
  ZStream,
  zlibDeflate,
  zlibDeflateInit2,
  zlibDeflateReset,
  zlibDeflateSetDictionary,
  zlibInflate,
  zlibInflateInit2,
  zlibInflateReset,
  zlibInflateSetDictionary,
} from 'pako';
import { constants } from './constants.js';

const { DEFLATE, DEFLATERAW, GUNZIP, GZIP, INFLATE, INFLATERAW, UNZIP, Z_BUF_ERROR, Z_DATA_ERROR, Z_FINISH, Z_NEED_DICT, Z_OK, Z_STREAM_END } =
  constants;

const DEFLATED = 8;
const CODES = {
  [-1]: 'Z_ERRNO',
  [-2]: 'Z_STREAM_ERROR',
  [-3]: 'Z_DATA_ERROR',
  [-4]: 'Z_MEM_ERROR',
  [-5]: 'Z_BUF_ERROR',
  [-6]: 'Z_VERSION_ERROR',
  2: 'Z_NEED_DICT',
};

// zlib takes the format from the sign and size of the window.
const WINDOW = {
  [DEFLATE]: (bits) => bits,
  [DEFLATERAW]: (bits) => -Math.max(bits, 9),
  [GZIP]: (bits) => bits + 16,
  [INFLATE]: (bits) => bits,
  [INFLATERAW]: (bits) => -bits,
  [GUNZIP]: (bits) => bits + 16,
  [UNZIP]: (bits) => bits + 32,
};

export class ZlibError extends Error {
  constructor(message, errno) {
    super(message);
    this.errno = errno;
    this.code = CODES[errno];
  }
}
Object.defineProperty(ZlibError.prototype, 'constructor', { value: Error, writable: true, configurable: true });

export const isCompressing = (mode) => mode === DEFLATE || mode === DEFLATERAW || mode === GZIP;

export class Engine {
  #stream = new ZStream();
  #mode;
  #chunkSize;
  #dictionary;
  #ended = false;
  #started = false;
  #isGzip = false;

  constructor(mode, { windowBits, level, memLevel, strategy, dictionary, chunkSize }) {
    this.#mode = mode;
    this.#chunkSize = chunkSize;
    this.#dictionary = dictionary;
    const bits = WINDOW[mode](windowBits);
    const status = isCompressing(mode)
      ? zlibDeflateInit2(this.#stream, level, DEFLATED, bits, memLevel, strategy)
      : zlibInflateInit2(this.#stream, bits);
    if (status !== Z_OK) throw new ZlibError('Init error', status);
    if (dictionary && (isCompressing(mode) || mode === INFLATERAW)) this.#setDictionary();
  }

  /** Whether the compressed data is complete; what follows it is not read. */
  get ended() {
    return this.#ended;
  }

  #setDictionary() {
    const set = isCompressing(this.#mode) ? zlibDeflateSetDictionary : zlibInflateSetDictionary;
    if (set(this.#stream, this.#dictionary) !== Z_OK) throw new ZlibError('Failed to set dictionary', Z_DATA_ERROR);
  }

  reset() {
    (isCompressing(this.#mode) ? zlibDeflateReset : zlibInflateReset)(this.#stream);
    this.#ended = false;
    this.#started = false;
  }

  /** All the output that `input` gives; with `Z_FINISH` the data must end here. */
  run(input, flush) {
    const stream = this.#stream;
    const output = [];
    const compressing = isCompressing(this.#mode);
    stream.input = input;
    stream.next_in = 0;
    stream.avail_in = input.length;
    if (input.length > 0 && !this.#started) {
      this.#started = true;
      this.#isGzip = this.#mode === GUNZIP || (this.#mode === UNZIP && input[0] === 0x1f);
    }
    for (;;) {
      if (this.#ended) {
        if (compressing || !this.#nextMember()) break;
      }
      stream.output = new Uint8Array(this.#chunkSize);
      stream.next_out = 0;
      stream.avail_out = this.#chunkSize;
      let status = compressing ? zlibDeflate(stream, flush) : zlibInflate(stream, flush);
      if (status === Z_NEED_DICT) {
        if (!this.#dictionary) throw new ZlibError('Missing dictionary', Z_NEED_DICT);
        if (zlibInflateSetDictionary(stream, this.#dictionary) !== Z_OK) throw new ZlibError('Bad dictionary', Z_DATA_ERROR);
        status = zlibInflate(stream, flush);
      }
      if (status < 0 && status !== Z_BUF_ERROR) throw new ZlibError(stream.msg || 'Zlib error', status);
      if (stream.next_out > 0) output.push(stream.output.subarray(0, stream.next_out));
      if (status === Z_STREAM_END) this.#ended = true;
      else if (stream.avail_out > 0) break;
    }
    if (!compressing && flush === Z_FINISH && !this.#ended) throw new ZlibError('unexpected end of file', Z_BUF_ERROR);
    return output;
  }

  /** A gzip file may hold several members, one after the other; zeros after the last are passed over. */
  #nextMember() {
    const stream = this.#stream;
    const { input, next_in: at, avail_in: left } = stream;
    if (!this.#isGzip || left === 0 || input[at] === 0) return false;
    zlibInflateReset(stream);
    stream.input = input;
    stream.next_in = at;
    stream.avail_in = left;
    this.#ended = false;
    return true;
  }

  get unread() {
    return this.#stream.avail_in;
  }

  get started() {
    return this.#started;
  }
}
