// node:zlib. Deflate, gzip and their inverses; Brotli and Zstandard are named and refused.

import { invalidArgType, notImplemented } from '../internal/errors.js';
import { validateFunction, validateUint32 } from '../internal/validators.js';
import { defer } from '../internal/task.js';
import { asBuffer, Buffer } from './buffer/buffer.js';
import { binding } from '../internal/binding.js';
import { classOf } from './util/types.js';
import { constants } from './zlib/constants.js';
import { Engine, isCompressing } from './zlib/engine.js';
import { bytesOf, settingsFor, streamClass, tooLarge } from './zlib/streams.js';

const { DEFLATE, DEFLATERAW, GUNZIP, GZIP, INFLATE, INFLATERAW, UNZIP } = constants;

function inputOf(buffer, name = 'buffer') {
  if (typeof buffer === 'string') return binding.utf8Encode(buffer);
  if (ArrayBuffer.isView(buffer)) return bytesOf(buffer);
  const kind = classOf(buffer);
  if (kind === 'ArrayBuffer' || kind === 'SharedArrayBuffer') return new Uint8Array(buffer);
  throw invalidArgType(name, ['string', 'Buffer', 'TypedArray', 'DataView', 'ArrayBuffer'], buffer);
}

function convert(mode, input, settings) {
  const engine = new Engine(mode, settings);
  const parts = engine.run(input, settings.finishFlush);
  const length = parts.reduce((total, part) => total + part.length, 0);
  if (length > settings.maxOutputLength) throw tooLarge(settings.maxOutputLength);
  const buffer = parts.length === 1 && !isCompressing(mode) ? asBuffer(parts[0]) : Buffer.concat(parts, length);
  return settings.info ? { buffer, engine } : buffer;
}

function converters(name, mode) {
  const sync = {
    [`${name}Sync`](buffer, options) {
      return convert(mode, inputOf(buffer), settingsFor(mode, options));
    },
  }[`${name}Sync`];
  const later = {
    [name](buffer, options, callback) {
      if (typeof options === 'function') {
        callback = options;
        options = {};
      }
      validateFunction(callback, 'callback');
      const input = inputOf(buffer);
      const settings = settingsFor(mode, options);
      defer(() => convert(mode, input, settings), callback);
    },
  }[name];
  return [later, sync];
}

function crc32(data, value = 0) {
  if (typeof data !== 'string' && !ArrayBuffer.isView(data)) throw invalidArgType('data', ['Buffer', 'TypedArray', 'DataView', 'string'], data);
  validateUint32(value, 'value');
  return binding.crc32(inputOf(data), value);
}

/** Formats that the sandbox does not carry: each name is there, and says so when it is used. */
function refused(name, format) {
  const fail = () => {
    throw notImplemented(`zlib.${name}`, `${format} is not part of this runtime`);
  };
  return {
    [name]: function () {
      return fail();
    },
  }[name];
}

const classes = {
  Deflate: streamClass('Deflate', DEFLATE),
  Inflate: streamClass('Inflate', INFLATE),
  Gzip: streamClass('Gzip', GZIP),
  Gunzip: streamClass('Gunzip', GUNZIP),
  DeflateRaw: streamClass('DeflateRaw', DEFLATERAW),
  InflateRaw: streamClass('InflateRaw', INFLATERAW),
  Unzip: streamClass('Unzip', UNZIP),
};
const REFUSED = { BrotliCompress: 'Brotli', BrotliDecompress: 'Brotli', ZstdCompress: 'Zstandard', ZstdDecompress: 'Zstandard' };

const zlib = { crc32, ...classes };
for (const [name, format] of Object.entries(REFUSED)) zlib[name] = refused(name, format);
for (const [name, mode] of [
  ['deflate', DEFLATE],
  ['gzip', GZIP],
  ['deflateRaw', DEFLATERAW],
  ['unzip', UNZIP],
  ['inflate', INFLATE],
  ['gunzip', GUNZIP],
  ['inflateRaw', INFLATERAW],
]) {
  [zlib[name], zlib[`${name}Sync`]] = converters(name, mode);
}
for (const [name, format] of Object.entries(REFUSED)) {
  const call = name[0].toLowerCase() + name.slice(1);
  zlib[call] = refused(call, format);
  zlib[`${call}Sync`] = refused(`${call}Sync`, format);
}
for (const name of ['Deflate', 'Inflate', 'DeflateRaw', 'InflateRaw', 'Gzip', 'Gunzip', 'Unzip']) {
  zlib[`create${name}`] = { [`create${name}`]: (options) => new classes[name](options) }[`create${name}`];
}
for (const [name, format] of Object.entries(REFUSED)) zlib[`create${name}`] = refused(`create${name}`, format);

const codes = {};
for (const name of [
  'Z_OK',
  'Z_STREAM_END',
  'Z_NEED_DICT',
  'Z_ERRNO',
  'Z_STREAM_ERROR',
  'Z_DATA_ERROR',
  'Z_MEM_ERROR',
  'Z_BUF_ERROR',
  'Z_VERSION_ERROR',
])
  codes[name] = constants[name];
for (const name of Object.keys(codes)) codes[codes[name]] = name;

Object.defineProperty(zlib, 'constants', { value: Object.freeze(constants), enumerable: true });
Object.defineProperty(zlib, 'codes', { value: Object.freeze(codes), enumerable: true });
for (const name of Object.keys(constants)) {
  if (!name.startsWith('BROTLI')) Object.defineProperty(zlib, name, { value: constants[name], enumerable: false });
}

export default zlib;
