// WebCrypto: digests, HMAC, AES and key derivation. Public-key algorithms are refused.

import { illegalConstructor, nodeError } from '../../internal/errors.js';
import { binding } from '../../internal/binding.js';
import { defer } from '../../internal/task.js';
import { exposed } from '../../globals/event_target.js';
import { Buffer } from '../buffer/buffer.js';
import { inspect } from '../util/inspect.js';
import { viewOf } from './bytes.js';
import { aes } from './ciphers.js';
import { digestFor, keyedDigest } from './digests.js';
import { hkdfBytes, pbkdf2Bytes, timingSafeEqual } from './kdf.js';
import { keepSecret, secretOf } from './keys.js';
import { getRandomValues, randomUUID } from './random.js';
import { DOMException } from '../../globals/dom_exception.js';

const kMake = Symbol('make');

const fail = (message, name) => new DOMException(message, name);
const unsupported = () => fail('Unrecognized algorithm name', 'NotSupportedError');

const HASH_NAMES = {
  'sha-1': 'SHA-1',
  'sha-256': 'SHA-256',
  'sha-384': 'SHA-384',
  'sha-512': 'SHA-512',
  'sha3-256': 'SHA3-256',
  'sha3-384': 'SHA3-384',
  'sha3-512': 'SHA3-512',
};
const KEY_NAMES = { hmac: 'HMAC', 'aes-cbc': 'AES-CBC', 'aes-ctr': 'AES-CTR', 'aes-gcm': 'AES-GCM', pbkdf2: 'PBKDF2', hkdf: 'HKDF' };

function named(algorithm, names) {
  const given = typeof algorithm === 'string' ? { name: algorithm } : algorithm;
  const name = names[`${given?.name}`.toLowerCase()];
  if (name === undefined) throw unsupported();
  return { ...given, name };
}

const hashOf = (algorithm) => named(algorithm, HASH_NAMES).name;
const digestOf = (name) => digestFor(name.startsWith('SHA3') ? name : name.replace('-', ''));

function bytesOf(value, name = 'data') {
  const view = viewOf(value);
  if (view === undefined)
    throw nodeError(
      TypeError,
      'ERR_INVALID_ARG_TYPE',
      `Failed to execute on 'SubtleCrypto': ${name} is not instance of ArrayBuffer, Buffer, TypedArray, or DataView.`,
    );
  return view.slice();
}

/** The work in a later turn, as a promise. */
function later(work) {
  return new Promise((resolve, reject) => {
    defer(work, (error, value) => (error ? reject(error) : resolve(value)));
  });
}

export class CryptoKey {
  #type;
  #extractable;
  #algorithm;
  #usages;

  constructor(key, type, extractable, algorithm, usages, bytes) {
    if (key !== kMake) throw illegalConstructor();
    this.#type = type;
    this.#extractable = extractable;
    this.#algorithm = algorithm;
    this.#usages = usages;
    keepSecret(this, bytes);
  }

  get type() {
    return this.#type;
  }

  get extractable() {
    return this.#extractable;
  }

  get algorithm() {
    return this.#algorithm;
  }

  get usages() {
    return [...this.#usages];
  }

  [inspect.custom](depth, options) {
    if (depth < 0) return this;
    const shown = { type: this.#type, extractable: this.#extractable, algorithm: this.#algorithm, usages: this.#usages };
    return `CryptoKey ${inspect(shown, { ...options, depth: options.depth == null ? null : options.depth - 1 })}`;
  }
}
exposed(CryptoKey.prototype, ['type', 'extractable', 'algorithm', 'usages'], 'CryptoKey');

function usable(key, usage, name) {
  if (!(key instanceof CryptoKey)) throw new TypeError(`Failed to execute '${usage}' on 'SubtleCrypto': key is not of type CryptoKey.`);
  if (name && key.algorithm.name !== name) throw fail('The requested operation is not valid for the provided key', 'InvalidAccessError');
  if (!key.usages.includes(usage)) throw fail('Unable to use this key to ' + usage, 'InvalidAccessError');
  return secretOf(key);
}

function make(algorithm, bytes, extractable, usages) {
  const own = { name: algorithm.name };
  if (algorithm.name === 'HMAC') {
    own.length = bytes.length * 8;
    own.hash = { name: hashOf(algorithm.hash) };
  } else if (algorithm.name.startsWith('AES')) {
    if (![16, 24, 32].includes(bytes.length)) throw fail('Invalid key length', 'DataError');
    own.length = bytes.length * 8;
  }
  return new CryptoKey(kMake, 'secret', Boolean(extractable), own, [...usages], bytes);
}

function parameters(algorithm, key) {
  const { name } = key.algorithm;
  if (name === 'AES-CBC') return aes.cbc(secretOf(key), bytesOf(algorithm.iv, 'algorithm.iv'));
  if (name === 'AES-CTR') return aes.ctr(secretOf(key), bytesOf(algorithm.counter, 'algorithm.counter'));
  if (algorithm.tagLength !== undefined && algorithm.tagLength !== 128) throw fail('Only tags of 128 bits are supported', 'NotSupportedError');
  return aes.gcm(
    secretOf(key),
    bytesOf(algorithm.iv, 'algorithm.iv'),
    algorithm.additionalData === undefined ? undefined : bytesOf(algorithm.additionalData),
  );
}

function derive(algorithm, key, length) {
  const secret = secretOf(key);
  const hash = digestOf(hashOf(algorithm.hash));
  if (length === null || length % 8 !== 0) throw fail('length must be a multiple of 8', 'OperationError');
  if (algorithm.name === 'PBKDF2') return pbkdf2Bytes(hash, secret, bytesOf(algorithm.salt), algorithm.iterations, length / 8);
  return hkdfBytes(hash, secret, bytesOf(algorithm.salt), bytesOf(algorithm.info), length / 8);
}

const kdfNames = { pbkdf2: 'PBKDF2', hkdf: 'HKDF' };
const cipherNames = { 'aes-cbc': 'AES-CBC', 'aes-ctr': 'AES-CTR', 'aes-gcm': 'AES-GCM' };
const macNames = { hmac: 'HMAC' };

export class SubtleCrypto {
  constructor(key) {
    if (key !== kMake) throw illegalConstructor();
  }

  async digest(algorithm, data) {
    const digest = digestOf(hashOf(algorithm));
    const bytes = bytesOf(data);
    return later(() => {
      const state = digest.start();
      state.update(bytes);
      return state.digest().slice().buffer;
    });
  }

  async importKey(format, keyData, algorithm, extractable, usages) {
    const wanted = named(algorithm, KEY_NAMES);
    if (format === 'raw' || format === 'raw-secret') return make(wanted, bytesOf(keyData, 'keyData'), extractable, usages);
    if (format === 'jwk' && keyData?.kty === 'oct') return make(wanted, new Uint8Array(Buffer.from(keyData.k, 'base64url')), extractable, usages);
    throw fail(`Unable to import ${wanted.name} key with format ${format}`, 'NotSupportedError');
  }

  async exportKey(format, key) {
    if (!key.extractable) throw fail('key is not extractable', 'InvalidAccessException');
    const bytes = secretOf(key);
    if (format === 'raw' || format === 'raw-secret') return bytes.slice().buffer;
    if (format !== 'jwk') throw fail(`Unable to export a key with format ${format}`, 'NotSupportedError');
    const { name, hash, length } = key.algorithm;
    const alg = name === 'HMAC' ? `HS${hash.name.slice(4)}` : `A${length}${name.slice(4)}`;
    return { kty: 'oct', k: Buffer.from(bytes).toString('base64url'), alg, key_ops: key.usages, ext: key.extractable };
  }

  async generateKey(algorithm, extractable, keyUsages) {
    const wanted = named(algorithm, { ...macNames, ...cipherNames });
    const block = wanted.name === 'HMAC' ? digestOf(hashOf(wanted.hash)).blockLength * 8 : undefined;
    const bytes = new Uint8Array((wanted.length ?? block) / 8);
    binding.random(bytes);
    return make(wanted, bytes, extractable, keyUsages);
  }

  async sign(algorithm, key, data) {
    named(algorithm, macNames);
    const secret = usable(key, 'sign', 'HMAC');
    const bytes = bytesOf(data);
    return later(() => keyedDigest(digestOf(key.algorithm.hash.name), secret, bytes).slice().buffer);
  }

  async verify(algorithm, key, signature, data) {
    named(algorithm, macNames);
    const secret = usable(key, 'verify', 'HMAC');
    const given = bytesOf(signature);
    const bytes = bytesOf(data);
    return later(() => {
      const expected = keyedDigest(digestOf(key.algorithm.hash.name), secret, bytes);
      return expected.length === given.length && timingSafeEqual(expected, given);
    });
  }

  async encrypt(algorithm, key, data) {
    const wanted = named(algorithm, cipherNames);
    usable(key, 'encrypt', wanted.name);
    const bytes = bytesOf(data);
    return later(() => parameters(wanted, key).encrypt(bytes).slice().buffer);
  }

  async decrypt(algorithm, key, data) {
    const wanted = named(algorithm, cipherNames);
    usable(key, 'decrypt', wanted.name);
    const bytes = bytesOf(data);
    return later(() => {
      try {
        return parameters(wanted, key).decrypt(bytes).slice().buffer;
      } catch {
        throw fail('The operation failed for an operation-specific reason', 'OperationError');
      }
    });
  }

  async deriveBits(algorithm, baseKey, length = null) {
    const wanted = named(algorithm, kdfNames);
    usable(baseKey, 'deriveBits', wanted.name);
    return later(() => derive(wanted, baseKey, length).buffer);
  }

  async deriveKey(algorithm, baseKey, derivedKeyType, extractable, keyUsages) {
    const wanted = named(algorithm, kdfNames);
    usable(baseKey, 'deriveKey', wanted.name);
    const type = named(derivedKeyType, { ...macNames, ...cipherNames });
    const length = type.length ?? digestOf(hashOf(type.hash)).blockLength * 8;
    return later(() => make(type, derive(wanted, baseKey, length), extractable, keyUsages));
  }

  async wrapKey() {
    throw unsupported();
  }

  async unwrapKey() {
    throw unsupported();
  }
}
exposed(
  SubtleCrypto.prototype,
  ['digest', 'generateKey', 'sign', 'verify', 'importKey', 'exportKey', 'encrypt', 'decrypt', 'deriveBits', 'deriveKey', 'wrapKey', 'unwrapKey'],
  'SubtleCrypto',
);

const subtle = new SubtleCrypto(kMake);

export class Crypto {
  constructor(key) {
    if (key !== kMake) throw illegalConstructor();
  }

  get subtle() {
    return subtle;
  }

  getRandomValues(array) {
    return getRandomValues(array);
  }

  randomUUID(options) {
    return randomUUID(options);
  }
}
exposed(Crypto.prototype, ['subtle', 'getRandomValues', 'randomUUID'], 'Crypto');

export const webcrypto = new Crypto(kMake);
export { subtle };
