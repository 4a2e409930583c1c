// node:buffer.

import { binding } from '../internal/binding.js';
import { invalidArgType } from '../internal/errors.js';
import { validateNumber } from '../internal/validators.js';
import { atob, btoa } from '../globals/base64.js';
import { Blob, File, resolveObjectURL } from '../globals/blob.js';
import { Buffer, MAX_LENGTH, MAX_STRING_LENGTH, settings } from './buffer/buffer.js';
import { normalizeEncoding } from './buffer/codecs.js';
import { classOf, typedArrayName } from './util/types.js';

function bytesOf(input) {
  const name = classOf(input);
  if (typedArrayName(input) !== undefined) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
  if (name === 'ArrayBuffer' || name === 'SharedArrayBuffer') return new Uint8Array(input);
  throw invalidArgType('input', ['ArrayBuffer', 'Buffer', 'TypedArray'], input);
}

function isUtf8(input) {
  return binding.utf8Valid(bytesOf(input));
}

function isAscii(input) {
  return bytesOf(input).every((byte) => byte < 128);
}

function transcode(source, fromEncoding, toEncoding) {
  if (typedArrayName(source) !== 'Uint8Array') throw invalidArgType('source', ['Buffer', 'Uint8Array'], source);
  if (source.length === 0) return Buffer.alloc(0);
  const known = ['utf8', 'utf16le', 'latin1', 'ascii'];
  const from = normalizeEncoding(fromEncoding);
  const to = normalizeEncoding(toEncoding);
  if (!known.includes(from) || !known.includes(to)) {
    throw Object.assign(new Error('Unable to transcode Buffer [U_ILLEGAL_ARGUMENT_ERROR]'), { code: 'U_ILLEGAL_ARGUMENT_ERROR', errno: 1 });
  }
  const text = Buffer.from(source.buffer, source.byteOffset, source.byteLength).toString(from);
  const limit = to === 'ascii' ? 0x80 : 0x100;
  // What the target cannot write becomes a question mark.
  const plain = to === 'ascii' || to === 'latin1' ? [...text].map((char) => (char.codePointAt(0) < limit ? char : '?')).join('') : text;
  return Buffer.from(plain, to);
}

function SlowBuffer(size) {
  validateNumber(size, 'size', 0, MAX_LENGTH);
  return Buffer.allocUnsafeSlow(size);
}
Object.setPrototypeOf(SlowBuffer.prototype, Uint8Array.prototype);
Object.setPrototypeOf(SlowBuffer, Uint8Array);

const constants = Object.defineProperties(
  {},
  {
    MAX_LENGTH: { value: MAX_LENGTH, enumerable: true },
    MAX_STRING_LENGTH: { value: MAX_STRING_LENGTH, enumerable: true },
  },
);

const buffer = {
  Buffer,
  SlowBuffer,
  transcode,
  isUtf8,
  isAscii,
  kMaxLength: MAX_LENGTH,
  kStringMaxLength: MAX_STRING_LENGTH,
  btoa,
  atob,
  constants,
  get INSPECT_MAX_BYTES() {
    return settings.INSPECT_MAX_BYTES;
  },
  set INSPECT_MAX_BYTES(value) {
    validateNumber(value, 'INSPECT_MAX_BYTES', 0);
    settings.INSPECT_MAX_BYTES = value;
  },
  Blob,
  File,
  resolveObjectURL,
};

export { Buffer };
export default buffer;
