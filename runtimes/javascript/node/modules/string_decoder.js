// node:string_decoder: bytes to text, holding back characters that are not complete yet.

import { invalidArgType, unknownEncoding } from '../internal/errors.js';
import { asBuffer } from './buffer/buffer.js';
import { codecFor } from './buffer/codecs.js';

/** How many bytes at the end wait for more, by encoding. */
const UNFINISHED = {
  utf8(bytes) {
    for (let back = 1; back <= 3 && back <= bytes.length; back++) {
      const byte = bytes[bytes.length - back];
      if (byte < 0x80) return 0;
      if (byte < 0xc0) continue;
      const needed = byte >= 0xf5 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 1;
      if (needed <= back) return 0;
      if (back >= 2) {
        const second = bytes[bytes.length - back + 1];
        const low = byte === 0xe0 ? 0xa0 : byte === 0xf0 ? 0x90 : 0x80;
        const high = byte === 0xed ? 0x9f : byte === 0xf4 ? 0x8f : 0xbf;
        if (second < low || second > high) return 0;
      }
      return back;
    }
    return 0;
  },
  utf16le(bytes) {
    const odd = bytes.length % 2;
    const high = bytes[bytes.length - odd - 1];
    return high >= 0xd8 && high <= 0xdb ? odd + 2 : odd;
  },
  base64: (bytes) => bytes.length % 3,
  base64url: (bytes) => bytes.length % 3,
};

const NEEDED = { utf8: 4, utf16le: 4, base64: 3, base64url: 3 };

export function StringDecoder(encoding) {
  const codec = encoding == null || encoding === '' ? codecFor('utf8') : codecFor(encoding);
  if (codec === undefined || (typeof encoding !== 'string' && encoding != null)) throw unknownEncoding(encoding);
  this.encoding = codec.name;
  state.set(this, { codec, pending: new Uint8Array(0) });
}

const state = new WeakMap();

function take(decoder, bytes) {
  const own = state.get(decoder);
  const { pending } = own;
  if (pending.length > 0 && own.codec.name === 'utf16le') return completeUnit(own, bytes);
  if (pending.length > 0) {
    const all = new Uint8Array(pending.length + bytes.length);
    all.set(pending);
    all.set(bytes, pending.length);
    bytes = all;
  }
  const rest = UNFINISHED[own.codec.name]?.(bytes) ?? 0;
  own.pending = bytes.slice(bytes.length - rest);
  return own.codec.decode(bytes, 0, bytes.length - rest);
}

/** A unit or pair that was begun is finished first, and not looked at again: its second half may be a surrogate. */
function completeUnit(own, bytes) {
  const { pending, codec } = own;
  const needed = (pending.length === 1 ? 2 : 4) - pending.length;
  const first = new Uint8Array(pending.length + Math.min(needed, bytes.length));
  first.set(pending);
  first.set(bytes.subarray(0, needed), pending.length);
  if (bytes.length < needed) {
    own.pending = first;
    return '';
  }
  const rest = bytes.subarray(needed);
  const held = UNFINISHED.utf16le(rest);
  own.pending = rest.slice(rest.length - held);
  return codec.decode(first, 0, first.length) + codec.decode(rest, 0, rest.length - held);
}

StringDecoder.prototype.write = function write(buf) {
  if (typeof buf === 'string') return buf;
  if (!ArrayBuffer.isView(buf)) throw invalidArgType('buf', ['Buffer', 'TypedArray', 'DataView'], buf);
  return take(this, new Uint8Array(buf.buffer, buf.byteOffset, buf.byteLength));
};

StringDecoder.prototype.end = function end(buf) {
  const text = buf === undefined ? '' : this.write(buf);
  const own = state.get(this);
  const { pending, codec } = own;
  own.pending = new Uint8Array(0);
  if (pending.length === 0) return text;
  // Half a UTF-16 unit says nothing; other beginnings are shown as far as they go.
  return text + codec.decode(pending, 0, codec.name === 'utf16le' ? pending.length & ~1 : pending.length);
};

StringDecoder.prototype.text = function text(buf, offset) {
  const own = state.get(this);
  own.pending = new Uint8Array(0);
  return this.write(buf.slice(offset));
};

Object.defineProperties(StringDecoder.prototype, {
  lastChar: {
    get() {
      const last = asBuffer(new Uint8Array(4));
      last.set(state.get(this).pending);
      return last;
    },
    configurable: true,
    enumerable: true,
  },
  lastNeed: {
    get() {
      const { pending, codec } = state.get(this);
      if (pending.length === 0) return 0;
      if (codec.name === 'utf8') {
        const total = pending[0] >= 0xf0 ? 4 : pending[0] >= 0xe0 ? 3 : 2;
        return total - pending.length;
      }
      return (codec.name === 'utf16le' && pending.length < 2 ? 2 : NEEDED[codec.name]) - pending.length;
    },
    configurable: true,
    enumerable: true,
  },
  lastTotal: {
    get() {
      const { pending } = state.get(this);
      return pending.length === 0 ? 0 : pending.length + this.lastNeed;
    },
    configurable: true,
    enumerable: true,
  },
});

export default { StringDecoder };
