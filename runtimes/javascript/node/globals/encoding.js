// TextEncoder and TextDecoder.

import { binding } from '../internal/binding.js';
import { invalidArgType, invalidThis, nodeError } from '../internal/errors.js';
import { validateObject } from '../internal/validators.js';
import { classOf, typedArrayName } from '../modules/util/types.js';
import { inspect } from '../modules/util/inspect.js';
import { exposed } from './event_target.js';

export class TextEncoder {
  #self = true;

  get encoding() {
    if (!(#self in this)) throw invalidThis('TextEncoder');
    return 'utf-8';
  }

  encode(input = '') {
    if (!(#self in this)) throw invalidThis('TextEncoder');
    return binding.utf8Encode(`${input}`);
  }

  encodeInto(source, destination) {
    if (!(#self in this)) throw invalidThis('TextEncoder');
    if (typeof source !== 'string') throw invalidArgType('src', 'string', source);
    if (typedArrayName(destination) !== 'Uint8Array') throw invalidArgType('dest', 'Uint8Array', destination);
    const written = binding.utf8Write(source, destination, 0, destination.length);
    if (written === binding.utf8Length(source)) return { read: source.length, written };
    return { read: binding.utf8Decode(destination, 0, written).length, written };
  }

  [inspect.custom](depth, options) {
    if (typeof depth === 'number' && depth < 0) return this;
    return inspect({ encoding: 'utf-8' }, options);
  }
}
exposed(TextEncoder.prototype, ['encoding', 'encode', 'encodeInto'], 'TextEncoder');

// Labels of the WHATWG standard for the encodings that are decoded here.
const LABELS = {
  'utf-8': ['unicode-1-1-utf-8', 'unicode11utf8', 'unicode20utf8', 'utf-8', 'utf8', 'x-unicode20utf8'],
  'utf-16le': ['csunicode', 'iso-10646-ucs-2', 'ucs-2', 'unicode', 'unicodefeff', 'utf-16', 'utf-16le'],
  'utf-16be': ['unicodefffe', 'utf-16be'],
  'windows-1252': [
    'ansi_x3.4-1968',
    'ascii',
    'cp1252',
    'cp819',
    'csisolatin1',
    'ibm819',
    'iso-8859-1',
    'iso-ir-100',
    'iso8859-1',
    'iso88591',
    'iso_8859-1',
    'iso_8859-1:1987',
    'l1',
    'latin1',
    'us-ascii',
    'windows-1252',
    'x-cp1252',
  ],
};
const NAMES = new Map(Object.entries(LABELS).flatMap(([name, labels]) => labels.map((label) => [label, name])));

// Where windows-1252 is not Latin-1: 0x80 to 0x9f.
const WINDOWS_1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

const invalidData = (encoding) =>
  nodeError(TypeError, 'ERR_ENCODING_INVALID_ENCODED_DATA', `The encoded data was not valid for encoding ${encoding}`);

/** How many bytes at the end of `bytes` are the beginning of a character that may still be completed. */
function unfinishedUtf8(bytes) {
  const { length } = bytes;
  for (let back = 1; back <= 3 && back <= length; back++) {
    const byte = bytes[length - back];
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    const needed = byte >= 0xf0 && byte <= 0xf4 ? 4 : byte >= 0xe0 && byte < 0xf0 ? 3 : byte >= 0xc2 && byte < 0xe0 ? 2 : 1;
    if (needed <= back) return 0;
    // The second byte may already rule the sequence out.
    if (back >= 2) {
      const second = bytes[length - back + 1];
      const low = byte === 0xe0 ? 0xa0 : byte === 0xf0 ? 0x90 : 0x80;
      const high = byte === 0xed ? 0x9f : byte === 0xf4 ? 0x8f : 0xbf;
      if (second < low || second > high) return 0;
    }
    return back;
  }
  return 0;
}

function bytesOf(input) {
  if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
  const name = classOf(input);
  if (name === 'ArrayBuffer' || name === 'SharedArrayBuffer') return new Uint8Array(input);
  throw nodeError(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "list" argument must be an instance of SharedArrayBuffer, ArrayBuffer or ArrayBufferView.');
}

function joined(first, second) {
  if (first.length === 0) return second;
  const bytes = new Uint8Array(first.length + second.length);
  bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}

const EMPTY = new Uint8Array(0);

export class TextDecoder {
  #encoding;
  #fatal;
  #ignoreBOM;
  #pending = EMPTY;
  #bomSeen = false;

  constructor(encoding = 'utf-8', options = {}) {
    encoding = `${encoding}`;
    if (options !== null) validateObject(options, 'options', { allowArray: true, allowFunction: true });
    const name = NAMES.get(encoding.trim().toLowerCase());
    if (name === undefined) throw nodeError(RangeError, 'ERR_ENCODING_NOT_SUPPORTED', `The "${encoding}" encoding is not supported`);
    this.#encoding = name;
    this.#fatal = Boolean(options?.fatal);
    this.#ignoreBOM = Boolean(options?.ignoreBOM);
  }

  get encoding() {
    if (!(#encoding in this)) throw invalidThis('TextDecoder');
    return this.#encoding;
  }

  get fatal() {
    if (!(#encoding in this)) throw invalidThis('TextDecoder');
    return this.#fatal;
  }

  get ignoreBOM() {
    if (!(#encoding in this)) throw invalidThis('TextDecoder');
    return this.#ignoreBOM;
  }

  decode(input = EMPTY, options = {}) {
    if (!(#encoding in this)) throw invalidThis('TextDecoder');
    if (options !== null) validateObject(options, 'options', { allowArray: true, allowFunction: true });
    const stream = Boolean(options?.stream);
    let bytes = joined(this.#pending, bytesOf(input));
    this.#pending = EMPTY;
    const text =
      this.#encoding === 'utf-8' ? this.#utf8(bytes, stream) : this.#encoding === 'windows-1252' ? windows1252(bytes) : this.#utf16(bytes, stream);
    return this.#withoutBOM(text, stream);
  }

  #withoutBOM(text, stream) {
    const first = !this.#bomSeen;
    if (text !== '' || !stream) this.#bomSeen = stream;
    return first && !this.#ignoreBOM && text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  }

  #utf8(bytes, stream) {
    if (stream) {
      const rest = unfinishedUtf8(bytes);
      if (rest > 0) {
        this.#pending = bytes.slice(bytes.length - rest);
        bytes = bytes.subarray(0, bytes.length - rest);
      }
    }
    if (this.#fatal && !binding.utf8Valid(bytes)) throw this.#fail();
    return binding.utf8Decode(bytes, 0, bytes.length);
  }

  #fail() {
    this.#pending = EMPTY;
    this.#bomSeen = false;
    return invalidData(this.#encoding);
  }

  #utf16(bytes, stream) {
    let { length } = bytes;
    const odd = length % 2;
    length -= odd;
    let even = bytes.subarray(0, length);
    if (this.#encoding === 'utf-16be') {
      even = even.slice();
      for (let index = 0; index < length; index += 2) [even[index], even[index + 1]] = [even[index + 1], even[index]];
    }
    let text = binding.utf16Decode(even, 0, length);
    if (stream) {
      // A high surrogate waits for its other half.
      const last = text.charCodeAt(text.length - 1);
      const keep = odd + (last >= 0xd800 && last <= 0xdbff ? 2 : 0);
      if (keep > odd) text = text.slice(0, -1);
      this.#pending = bytes.slice(bytes.length - keep);
    } else if (odd) {
      if (this.#fatal) throw this.#fail();
      text += '\ufffd';
    }
    if (this.#fatal && !text.isWellFormed()) throw this.#fail();
    return text.toWellFormed();
  }

  [inspect.custom](depth, options) {
    if (!(#encoding in this)) throw invalidThis('TextDecoder');
    if (typeof depth === 'number' && depth < 0) return this;
    return `TextDecoder ${inspect({ encoding: this.#encoding, fatal: this.#fatal, ignoreBOM: this.#ignoreBOM }, options)}`;
  }
}
exposed(TextDecoder.prototype, ['encoding', 'fatal', 'ignoreBOM', 'decode'], 'TextDecoder');

function windows1252(bytes) {
  return binding.latin1Decode(bytes, 0, bytes.length).replace(/[\x80-\x9f]/g, (char) => WINDOWS_1252[char.charCodeAt(0) - 0x80]);
}
