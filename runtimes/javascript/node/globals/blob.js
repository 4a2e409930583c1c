// Blob and File: bytes that do not change.

import { invalidArgType, invalidThis, missingArgs, nodeError } from '../internal/errors.js';
import { validateObject } from '../internal/validators.js';
import { binding } from '../internal/binding.js';
import { inspect } from '../modules/util/inspect.js';
import { classOf } from '../modules/util/types.js';
import { exposed } from './event_target.js';
import { ReadableStream } from './streams.js';

const { now: unixNow } = Date;
// How much a Blob's stream gives at a time.
const CHUNK = 65536;

function bytesOf(source, endings) {
  if (source instanceof Blob) return bytesOfBlob(source);
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength).slice();
  const name = classOf(source);
  if (name === 'ArrayBuffer' || name === 'SharedArrayBuffer') return new Uint8Array(source).slice();
  const text = `${source}`;
  return binding.utf8Encode(endings === 'native' ? text.replace(/\r\n|\r/g, '\n') : text);
}

function concat(parts) {
  if (parts.length === 1) return parts[0];
  const bytes = new Uint8Array(parts.reduce((total, part) => total + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

const cleanType = (type) => (/[^\u{0020}-\u{007E}]/u.test(type) ? '' : type.toLowerCase());

export class Blob {
  #bytes;
  #type;

  constructor(sources = [], options = {}) {
    if (sources === null || typeof sources !== 'object' || typeof sources[Symbol.iterator] !== 'function') {
      throw nodeError(TypeError, 'ERR_INVALID_ARG_TYPE', 'Value cannot be converted to sequence.');
    }
    validateObject(options, 'options', { allowArray: true, allowFunction: true, nullable: true });
    const endings = options?.endings === undefined ? 'transparent' : `${options.endings}`;
    if (endings !== 'transparent' && endings !== 'native') {
      throw nodeError(
        TypeError,
        'ERR_INVALID_ARG_VALUE',
        `The property 'options.endings' must be one of: 'transparent', 'native'. Received ${inspect(options.endings)}`,
      );
    }
    this.#bytes = concat([...sources].map((source) => bytesOf(source, endings)));
    this.#type = cleanType(options?.type === undefined ? '' : `${options.type}`);
  }

  static {
    this.read = (blob) => blob.#bytes;
  }

  get size() {
    if (!(#bytes in this)) throw invalidThis('Blob');
    return this.#bytes.length;
  }

  get type() {
    if (!(#bytes in this)) throw invalidThis('Blob');
    return this.#type;
  }

  slice(start = 0, end = this.size, contentType = '') {
    const clip = (value) => {
      value = Math.trunc(+value) || 0;
      return value < 0 ? Math.max(0, this.size + value) : Math.min(value, this.size);
    };
    const from = clip(start);
    const blob = new Blob([], { type: contentType });
    blob.#bytes = this.#bytes.subarray(from, Math.max(from, clip(end)));
    return blob;
  }

  async arrayBuffer() {
    if (!(#bytes in this)) throw invalidThis('Blob');
    return this.#bytes.slice().buffer;
  }

  async bytes() {
    if (!(#bytes in this)) throw invalidThis('Blob');
    return this.#bytes.slice();
  }

  async text() {
    if (!(#bytes in this)) throw invalidThis('Blob');
    const text = binding.utf8Decode(this.#bytes, 0, this.#bytes.length);
    return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  }

  stream() {
    if (!(#bytes in this)) throw invalidThis('Blob');
    const bytes = this.#bytes;
    let at = 0;
    return new ReadableStream({
      type: 'bytes',
      pull(controller) {
        if (at >= bytes.length) {
          controller.close();
          controller.byobRequest?.respond(0);
          return;
        }
        controller.enqueue(bytes.slice(at, at + CHUNK));
        at += CHUNK;
      },
    });
  }

  [inspect.custom](depth, options) {
    if (depth < 0) return this;
    const inner = { ...options, depth: options.depth == null ? null : options.depth - 1 };
    return `Blob ${inspect({ size: this.size, type: this.type }, inner)}`;
  }
}
const { read: bytesOfBlob } = Blob;
delete Blob.read;
exposed(Blob.prototype, ['size', 'type', 'slice', 'stream', 'text', 'arrayBuffer', 'bytes'], 'Blob');

export class File extends Blob {
  #name;
  #lastModified;

  constructor(fileBits, fileName, options = undefined) {
    if (arguments.length < 2) throw missingArgs('fileBits', 'fileName');
    super(fileBits, options ?? {});
    this.#name = `${fileName}`.toWellFormed();
    const modified = options?.lastModified;
    this.#lastModified = modified === undefined ? unixNow() : Math.trunc(+modified) || 0;
  }

  get name() {
    if (!(#name in this)) throw invalidThis('File');
    return this.#name;
  }

  get lastModified() {
    if (!(#name in this)) throw invalidThis('File');
    return this.#lastModified;
  }

  [inspect.custom](depth, options) {
    if (depth < 0) return this;
    const inner = { ...options, depth: options.depth == null ? null : options.depth - 1 };
    return `File ${inspect({ size: this.size, type: this.type, name: this.#name, lastModified: this.#lastModified }, inner)}`;
  }
}
exposed(File.prototype, ['name', 'lastModified'], 'File');

/** Blobs registered under a `blob:nodedata:` URL. */
const registered = new Map();

export function createObjectURL(blob, makeId) {
  if (!(blob instanceof Blob)) throw invalidArgType('obj', 'Blob', blob);
  const id = `blob:nodedata:${makeId()}`;
  registered.set(id, blob);
  return id;
}

export function revokeObjectURL(url) {
  registered.delete(`${url}`);
}

export function resolveObjectURL(url) {
  return registered.get(`${url}`);
}
