// Cipheriv and Decipheriv: AES in the modes ECB, CBC, CTR and GCM.

import { cbc, ctr, ecb, gcm } from '@noble/ciphers/aes.js';
import { invalidArgType, invalidArgValue, nodeError } from '../../internal/errors.js';
import { validateObject, validateString } from '../../internal/validators.js';
import stream from '../stream.js';
import { StringDecoder } from '../string_decoder.js';
import { asBuffer } from '../buffer/buffer.js';
import { normalizeEncoding } from '../buffer/codecs.js';
import { bytesOf, viewOf } from './bytes.js';
import { keyBytes } from './keys.js';

const { Transform } = stream;
const BLOCK = 16;
const EMPTY = new Uint8Array(0);

const INFO = {
  ecb: { ivLength: 0, nid: { 128: 418, 192: 422, 256: 426 } },
  cbc: { ivLength: 16, nid: { 128: 419, 192: 423, 256: 427 } },
  ctr: { ivLength: 16, nid: { 128: 904, 192: 905, 256: 906 } },
  gcm: { ivLength: 12, nid: { 128: 895, 192: 898, 256: 901 } },
};

function parseName(cipher) {
  const match = /^(?:id-)?aes-?(128|192|256)-?(ecb|cbc|ctr|gcm)?$/i.exec(cipher);
  if (!match) return undefined;
  const bits = +match[1];
  const mode = (match[2] ?? (cipher.toLowerCase().startsWith('id-') ? 'gcm' : 'cbc')).toLowerCase();
  return { bits, mode, ivLength: INFO[mode].ivLength };
}

export function getCiphers() {
  const names = [];
  for (const bits of [128, 192, 256]) for (const mode of ['cbc', 'ctr', 'ecb', 'gcm']) names.push(`aes-${bits}-${mode}`);
  for (const bits of [128, 192, 256]) names.push(`aes${bits}`, `id-aes${bits}-GCM`);
  return names.sort();
}

export function getCipherInfo(nameOrNid, options) {
  if (typeof nameOrNid !== 'string' && typeof nameOrNid !== 'number') throw invalidArgType('nameOrNid', ['string', 'number'], nameOrNid);
  const found = getCiphers()
    .map((name) => [name, parseName(name)])
    .find(([name, { bits, mode }]) => name === `${nameOrNid}`.toLowerCase() || INFO[mode].nid[bits] === nameOrNid);
  if (!found) return undefined;
  const { bits, mode, ivLength } = found[1];
  if (options?.keyLength !== undefined && options.keyLength !== bits / 8) return undefined;
  if (options?.ivLength !== undefined && mode !== 'gcm' && options.ivLength !== ivLength) return undefined;
  const info = { mode, name: mode === 'gcm' ? `id-aes${bits}-GCM` : `aes-${bits}-${mode}`, nid: INFO[mode].nid[bits] };
  if (mode === 'cbc' || mode === 'ecb') info.blockSize = BLOCK;
  if (mode !== 'ecb') info.ivLength = options?.ivLength ?? ivLength;
  return { ...info, keyLength: bits / 8 };
}

const opensslError = (message, code) => Object.assign(new Error(message), { library: 'Provider routines', reason: message.split('::')[1], code });
const badDecrypt = () => opensslError('error:1C800064:Provider routines::bad decrypt', 'ERR_OSSL_BAD_DECRYPT');
const wrongLength = () => opensslError('error:1C80006B:Provider routines::wrong final block length', 'ERR_OSSL_WRONG_FINAL_BLOCK_LENGTH');

function concat(a, b) {
  if (a.length === 0) return b;
  const bytes = new Uint8Array(a.length + b.length);
  bytes.set(a);
  bytes.set(b, a.length);
  return bytes;
}

/** ECB and CBC: whole blocks as they come, padding at the end. */
class BlockMode {
  padding = true;
  #held = EMPTY;

  constructor(mode, key, iv, encrypting) {
    this.mode = mode;
    this.key = key;
    this.iv = iv;
    this.encrypting = encrypting;
  }

  #blocks(bytes) {
    if (bytes.length === 0) return EMPTY;
    const options = { disablePadding: true };
    const cipher = this.mode === 'ecb' ? ecb(this.key, options) : cbc(this.key, this.iv, options);
    const out = this.encrypting ? cipher.encrypt(bytes) : cipher.decrypt(bytes);
    this.iv = (this.encrypting ? out : bytes).slice(-BLOCK);
    return out;
  }

  update(bytes) {
    const all = concat(this.#held, bytes);
    let whole = all.length - (all.length % BLOCK);
    // The last block may be padding: it is kept until the end.
    if (!this.encrypting && this.padding && whole === all.length && whole > 0) whole -= BLOCK;
    this.#held = all.slice(whole);
    return this.#blocks(all.subarray(0, whole));
  }

  final() {
    const held = this.#held;
    if (!this.padding) {
      if (held.length > 0) throw wrongLength();
      return EMPTY;
    }
    if (this.encrypting) {
      const fill = BLOCK - held.length;
      return this.#blocks(concat(held, new Uint8Array(fill).fill(fill)));
    }
    if (held.length !== BLOCK) throw wrongLength();
    const out = this.#blocks(held);
    const fill = out[BLOCK - 1];
    if (fill === 0 || fill > BLOCK || out.subarray(BLOCK - fill).some((byte) => byte !== fill)) throw badDecrypt();
    return out.slice(0, BLOCK - fill);
  }
}

/** CTR: a stream of key bytes, taken block by block. */
class CounterMode {
  #used = 0;

  constructor(key, iv) {
    this.key = key;
    this.counter = iv.slice();
  }

  update(bytes) {
    if (bytes.length === 0) return EMPTY;
    const padded = concat(new Uint8Array(this.#used), bytes);
    const out = ctr(this.key, this.counter).encrypt(padded).slice(this.#used);
    const blocks = Math.floor(padded.length / BLOCK);
    this.#used = padded.length % BLOCK;
    let carry = blocks;
    for (let index = BLOCK - 1; index >= 0 && carry > 0; index--) {
      carry += this.counter[index];
      this.counter[index] = carry & 255;
      carry = Math.floor(carry / 256);
    }
    return out;
  }

  final() {
    return EMPTY;
  }
}

/** GCM: a counter stream, and a tag over all of it at the end. */
class GcmMode {
  aad = EMPTY;
  tag = undefined;
  tagLength = 16;
  #all = EMPTY;
  #stream;

  constructor(key, iv, encrypting, tagLength) {
    this.key = key;
    this.iv = iv;
    this.encrypting = encrypting;
    this.tagLength = tagLength ?? 16;
    // With other lengths of IV the first counter is only known to the package: then all comes out at the end.
    if (iv.length === 12) this.#stream = new CounterMode(key, concat(iv, Uint8Array.of(0, 0, 0, 2)));
  }

  update(bytes) {
    this.#all = concat(this.#all, bytes.slice());
    return this.#stream ? this.#stream.update(bytes) : EMPTY;
  }

  final() {
    const cipher = gcm(this.key, this.iv, this.aad);
    if (this.encrypting) {
      const sealed = cipher.encrypt(this.#all);
      this.tag = sealed.slice(-16).slice(0, this.tagLength);
      return this.#stream ? EMPTY : sealed.slice(0, -16);
    }
    const fail = () => new Error('Unsupported state or unable to authenticate data');
    if (!this.tag) throw fail();
    // The tag is worked out from the plain text, so that shortened tags can be compared too.
    const plain = this.#stream ? new CounterMode(this.key, concat(this.iv, Uint8Array.of(0, 0, 0, 2))).update(this.#all) : undefined;
    if (plain) {
      const expected = cipher.encrypt(plain).slice(-16);
      let difference = 0;
      for (let index = 0; index < this.tag.length; index++) difference |= expected[index] ^ this.tag[index];
      if (difference !== 0) throw fail();
      return EMPTY;
    }
    try {
      return cipher.decrypt(concat(this.#all, this.tag));
    } catch {
      throw fail();
    }
  }
}

const states = new WeakMap();

function setUp(self, cipher, key, iv, options, encrypting) {
  validateString(cipher, 'cipher');
  const secret = keyBytes(key, 'key', options?.encoding);
  if (iv !== null && typeof iv !== 'string' && viewOf(iv) === undefined) {
    throw invalidArgType('iv', ['string', 'ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'], iv);
  }
  const nonce = iv === null ? EMPTY : bytesOf(iv, 'iv').slice();
  const info = parseName(cipher);
  if (info === undefined) throw nodeError(Error, 'ERR_CRYPTO_UNKNOWN_CIPHER', 'Unknown cipher');
  if (secret.length !== info.bits / 8) throw nodeError(RangeError, 'ERR_CRYPTO_INVALID_KEYLEN', 'Invalid key length');
  const badIv = info.mode === 'gcm' ? nonce.length === 0 : nonce.length !== info.ivLength;
  if (badIv) throw nodeError(TypeError, 'ERR_CRYPTO_INVALID_IV', 'Invalid initialization vector');
  Transform.call(self, options);
  const make = {
    ecb: () => new BlockMode('ecb', secret, nonce, encrypting),
    cbc: () => new BlockMode('cbc', secret, nonce, encrypting),
    ctr: () => new CounterMode(secret, nonce),
    gcm: () => new GcmMode(secret, nonce, encrypting, options?.authTagLength),
  };
  states.set(self, { mode: make[info.mode](), name: info.mode, encrypting, done: false, decoder: undefined });
}

function output(state, bytes, encoding, last) {
  const buffer = asBuffer(bytes);
  if (!encoding || encoding === 'buffer') return buffer;
  const name = normalizeEncoding(encoding);
  if (state.decoder && state.decoder.encoding !== name) throw invalidArgValue('outputEncoding', encoding, `must be ${state.decoder.encoding}`);
  state.decoder ??= new StringDecoder(encoding);
  return last ? state.decoder.end(buffer) : state.decoder.write(buffer);
}

const methods = {
  update(data, inputEncoding, outputEncoding) {
    const state = states.get(this);
    if (typeof data !== 'string' && !ArrayBuffer.isView(data)) throw invalidArgType('data', ['string', 'Buffer', 'TypedArray', 'DataView'], data);
    if (state.done) throw nodeError(Error, 'ERR_CRYPTO_INVALID_STATE', 'Trying to add data in unsupported state');
    return output(state, state.mode.update(bytesOf(data, 'data', inputEncoding)), outputEncoding, false);
  },

  final(outputEncoding) {
    const state = states.get(this);
    if (state.done) throw nodeError(Error, 'ERR_CRYPTO_INVALID_STATE', 'Unsupported state');
    state.done = true;
    return output(state, state.mode.final(), outputEncoding, true);
  },

  setAutoPadding(autoPadding) {
    states.get(this).mode.padding = autoPadding === undefined ? true : Boolean(autoPadding);
    return this;
  },

  setAAD(buffer, options) {
    if (options !== undefined) validateObject(options, 'options');
    const state = states.get(this);
    if (state.name !== 'gcm') throw nodeError(Error, 'ERR_CRYPTO_INVALID_STATE', 'Invalid state for operation setAAD');
    state.mode.aad = concat(state.mode.aad, bytesOf(buffer, 'buffer', options?.encoding).slice());
    return this;
  },

  _transform(chunk, encoding, callback) {
    this.push(this.update(chunk, encoding));
    callback();
  },

  _flush(callback) {
    try {
      this.push(this.final());
    } catch (error) {
      callback(error);
      return;
    }
    callback();
  },
};

function cipherClass(name, encrypting, extra) {
  const Class = {
    [name]: function (cipher, key, iv, options) {
      if (!(this instanceof Class)) return new Class(cipher, key, iv, options);
      setUp(this, cipher, key, iv, options, encrypting);
      return undefined;
    },
  }[name];
  Object.setPrototypeOf(Class.prototype, Transform.prototype);
  Object.setPrototypeOf(Class, Transform);
  Object.assign(Class.prototype, methods, extra);
  return Class;
}

export const Cipheriv = cipherClass('Cipheriv', true, {
  getAuthTag() {
    const { mode, name, done } = states.get(this);
    if (name !== 'gcm' || !done) throw nodeError(Error, 'ERR_CRYPTO_INVALID_STATE', 'Invalid state for operation getAuthTag');
    return asBuffer(mode.tag);
  },
});

export const Decipheriv = cipherClass('Decipheriv', false, {
  setAuthTag(tag, encoding) {
    const { mode, name } = states.get(this);
    const bytes = bytesOf(tag, 'buffer', encoding).slice();
    if (name !== 'gcm') throw nodeError(Error, 'ERR_CRYPTO_INVALID_STATE', 'Invalid state for operation setAuthTag');
    if (![4, 8, 12, 13, 14, 15, 16].includes(bytes.length))
      throw nodeError(TypeError, 'ERR_CRYPTO_INVALID_AUTH_TAG', `Invalid authentication tag length: ${bytes.length}`);
    mode.tag = bytes;
    return this;
  },
});

export function createCipheriv(cipher, key, iv, options) {
  return new Cipheriv(cipher, key, iv, options);
}

export function createDecipheriv(cipher, key, iv, options) {
  return new Decipheriv(cipher, key, iv, options);
}

/** AES at once, for WebCrypto. */
export const aes = { cbc, ctr, gcm };
