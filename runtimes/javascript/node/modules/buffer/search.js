// Buffer's indexOf, lastIndexOf and includes.

import { invalidArgType, unknownEncoding } from '../../internal/errors.js';
import { typedArrayName } from '../util/types.js';
import { codecFor } from './codecs.js';

const { indexOf, lastIndexOf } = Uint8Array.prototype;

export function search(buffer, value, byteOffset, encoding, forwards) {
  if (typeof byteOffset === 'string') {
    encoding = byteOffset;
    byteOffset = undefined;
  }
  byteOffset = +byteOffset;
  // Without a position the search begins at the end it starts from.
  if (Number.isNaN(byteOffset)) byteOffset = forwards ? 0 : buffer.length;
  byteOffset = Math.trunc(Math.max(-0x80000000, Math.min(0x7fffffff, byteOffset)));
  if (typeof value === 'number') return searchByte(buffer, value & 255, byteOffset, forwards);
  const codec = encoding === undefined ? codecFor('utf8') : codecFor(encoding);
  if (typeof value === 'string') {
    if (codec === undefined) throw unknownEncoding(encoding);
    return searchBytes(buffer, codec.encode(value), byteOffset, forwards, codec.name === 'utf16le' ? 2 : 1);
  }
  if (typedArrayName(value) !== 'Uint8Array') throw invalidArgType('value', ['number', 'string', 'Buffer', 'Uint8Array'], value);
  return searchBytes(buffer, value, byteOffset, forwards, encoding !== undefined && codec?.name === 'utf16le' ? 2 : 1);
}

function searchByte(buffer, byte, offset, forwards) {
  if (offset < 0) {
    offset += buffer.length;
    if (offset < 0) {
      if (!forwards) return -1;
      offset = 0;
    }
  }
  return forwards ? indexOf.call(buffer, byte, offset) : lastIndexOf.call(buffer, byte, offset);
}

function searchBytes(buffer, needle, offset, forwards, step) {
  const last = buffer.length - needle.length;
  if (offset < 0) offset += buffer.length;
  if (needle.length === 0) return Math.max(0, Math.min(offset, buffer.length));
  if (offset < 0) {
    if (!forwards) return -1;
    offset = 0;
  }
  if (buffer.length === 0 || last < 0) return -1;
  if (forwards) {
    for (let at = indexOf.call(buffer, needle[0], offset); at !== -1 && at <= last; at = indexOf.call(buffer, needle[0], at + 1)) {
      if (at % step === 0 && matches(buffer, needle, at)) return at;
    }
    return -1;
  }
  for (
    let at = lastIndexOf.call(buffer, needle[0], Math.min(offset, last));
    at !== -1;
    at = at === 0 ? -1 : lastIndexOf.call(buffer, needle[0], at - 1)
  ) {
    if (at % step === 0 && matches(buffer, needle, at)) return at;
  }
  return -1;
}

function matches(buffer, needle, at) {
  for (let index = 1; index < needle.length; index++) if (buffer[at + index] !== needle[index]) return false;
  return true;
}
