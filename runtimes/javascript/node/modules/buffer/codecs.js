// The encodings of Buffer: text to bytes and back.

import { binding } from '../../internal/binding.js';

const { fromBase64, fromHex } = Uint8Array;
const { toBase64, toHex } = Uint8Array.prototype;
const { apply } = Reflect;

const view = (bytes, start, end) => new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start);

const utf8 = {
  name: 'utf8',
  byteLength: (text) => binding.utf8Length(text),
  encode: (text) => binding.utf8Encode(text),
  decode: (bytes, start, end) => binding.utf8Decode(bytes, start, end),
  write: (text, bytes, offset, length) => binding.utf8Write(text, bytes, offset, length),
};

const utf16le = {
  name: 'utf16le',
  byteLength: (text) => text.length * 2,
  encode(text) {
    const bytes = new Uint8Array(text.length * 2);
    binding.utf16Write(text, bytes, 0, bytes.length);
    return bytes;
  },
  decode: (bytes, start, end) => binding.utf16Decode(bytes, start, start + ((end - start) & ~1)),
  write: (text, bytes, offset, length) => binding.utf16Write(text, bytes, offset, length & ~1),
};

const latin1 = {
  name: 'latin1',
  byteLength: (text) => text.length,
  encode(text) {
    const bytes = new Uint8Array(text.length);
    binding.latin1Write(text, bytes, 0, bytes.length);
    return bytes;
  },
  decode: (bytes, start, end) => binding.latin1Decode(bytes, start, end),
  write: (text, bytes, offset, length) => binding.latin1Write(text, bytes, offset, length),
};

const ascii = {
  ...latin1,
  name: 'ascii',
  decode(bytes, start, end) {
    const part = view(bytes, start, end);
    return binding.latin1Decode(part.some((byte) => byte > 127) ? part.map((byte) => byte & 127) : part, 0, part.length);
  },
};

/** An encoding whose bytes are all known before the first is written. */
function whole(codec) {
  return {
    ...codec,
    write(text, bytes, offset, length) {
      const encoded = codec.encode(text);
      const count = Math.min(length, encoded.length);
      bytes.set(count === encoded.length ? encoded : encoded.subarray(0, count), offset);
      return count;
    },
  };
}

/** Node reads what it can of base64, in both alphabets at once, and passes over the rest. */
function decodeBase64(text) {
  if (text.includes('-') || text.includes('_')) text = text.replaceAll('-', '+').replaceAll('_', '/');
  try {
    return fromBase64.call(Uint8Array, text);
  } catch {
    let clean = text.replace(/[^A-Za-z0-9+/=]/g, '');
    const padding = clean.indexOf('=');
    if (padding !== -1) clean = clean.slice(0, padding);
    if (clean.length % 4 === 1) clean = clean.slice(0, -1);
    // The bits after the last whole byte do not count.
    const rest = clean.length % 4;
    return rest === 0 ? fromBase64.call(Uint8Array, clean) : fromBase64.call(Uint8Array, clean, { lastChunkHandling: 'loose' });
  }
}

function base64Length(text) {
  let { length } = text;
  if (length > 1 && text[length - 1] === '=') length--;
  if (length > 1 && text[length - 1] === '=') length--;
  return Math.floor((length * 3) / 4);
}

const base64 = whole({
  name: 'base64',
  byteLength: base64Length,
  encode: decodeBase64,
  decode: (bytes, start, end) => apply(toBase64, view(bytes, start, end), []),
});

const base64url = whole({
  ...base64,
  name: 'base64url',
  decode: (bytes, start, end) => apply(toBase64, view(bytes, start, end), [{ alphabet: 'base64url', omitPadding: true }]),
});

const hex = whole({
  name: 'hex',
  byteLength: (text) => text.length >>> 1,
  encode(text) {
    try {
      return fromHex.call(Uint8Array, text.length % 2 === 0 ? text : text.slice(0, -1));
    } catch {
      // Up to the first pair that is no number.
      return fromHex.call(Uint8Array, /^(?:[0-9a-fA-F]{2})*/.exec(text)[0]);
    }
  },
  decode: (bytes, start, end) => apply(toHex, view(bytes, start, end), []),
});

const CODECS = {
  __proto__: null,
  utf8,
  'utf-8': utf8,
  utf16le,
  'utf-16le': utf16le,
  ucs2: utf16le,
  'ucs-2': utf16le,
  latin1,
  binary: latin1,
  ascii,
  base64,
  base64url,
  hex,
};

/** The codec of that name, in any case; `undefined` if there is none. */
export function codecFor(encoding) {
  if (encoding === undefined || encoding === 'utf8') return utf8;
  return CODECS[encoding] ?? CODECS[`${encoding}`.toLowerCase()];
}

/** Node's own name of an encoding; `undefined` if there is none. */
export function normalizeEncoding(encoding) {
  return encoding == null || encoding === '' ? 'utf8' : codecFor(encoding)?.name;
}

export { utf8, latin1 };
