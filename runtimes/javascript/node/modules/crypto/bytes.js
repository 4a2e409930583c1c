// What the functions of crypto take as bytes: text, buffers, keys.

import { invalidArgType, unknownEncoding } from '../../internal/errors.js';
import { codecFor } from '../buffer/codecs.js';
import { Buffer, asBuffer } from '../buffer/buffer.js';
import { classOf } from '../util/types.js';

export function viewOf(value) {
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  const kind = classOf(value);
  return kind === 'ArrayBuffer' || kind === 'SharedArrayBuffer' ? new Uint8Array(value) : undefined;
}

export function textBytes(text, encoding) {
  const codec = encoding === undefined || encoding === 'buffer' ? codecFor('utf8') : codecFor(encoding);
  if (codec === undefined) throw unknownEncoding(encoding);
  return codec.encode(text);
}

/** Bytes of a text or a buffer; anything else is an error that names the argument. */
export function bytesOf(value, name, encoding, expected = ['ArrayBuffer', 'Buffer', 'TypedArray', 'DataView']) {
  if (typeof value === 'string') return textBytes(value, encoding);
  const view = viewOf(value);
  if (view === undefined) throw invalidArgType(name, ['string', ...expected], value);
  return view;
}

/** The result as Node gives it: a Buffer, or text in the encoding asked for. */
export function encoded(bytes, encoding) {
  const buffer = asBuffer(bytes);
  return encoding && encoding !== 'buffer' ? buffer.toString(encoding) : buffer;
}

export { Buffer };
