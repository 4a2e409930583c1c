// KeyObject: secret keys. Key pairs would need a cryptographic library that the sandbox does not carry.

import { invalidArgType, invalidArgValue, nodeError, outOfRange } from '../../internal/errors.js';
import { validateFunction, validateObject, validateString } from '../../internal/validators.js';
import { binding } from '../../internal/binding.js';
import { defer } from '../../internal/task.js';
import { asBuffer } from '../buffer/buffer.js';
import { bytesOf, viewOf } from './bytes.js';

const secrets = new WeakMap();

export class KeyObject {
  #type;

  constructor(type, bytes) {
    if (type !== 'secret' && type !== 'public' && type !== 'private') throw invalidArgValue('type', type);
    if (typeof bytes !== 'object') throw invalidArgType('handle', 'object', bytes);
    secrets.set(this, Uint8Array.from(bytes));
    this.#type = type;
  }

  get type() {
    return this.#type;
  }

  static from(key) {
    if (key?.[Symbol.toStringTag] !== 'CryptoKey') throw invalidArgType('key', 'CryptoKey', key);
    return createSecretKey(secretOf(key));
  }

  get symmetricKeySize() {
    return secrets.get(this).length;
  }

  export(options) {
    if (options !== undefined) {
      validateObject(options, 'options');
      if (options.format === 'jwk') return { kty: 'oct', k: asBuffer(secrets.get(this)).toString('base64url') };
    }
    return asBuffer(secrets.get(this).slice());
  }

  equals(other) {
    if (!(other instanceof KeyObject)) throw invalidArgType('otherKeyObject', 'KeyObject', other);
    return asBuffer(secrets.get(this)).equals(secrets.get(other));
  }
}

class SecretKeyObject extends KeyObject {
  constructor(bytes) {
    super('secret', bytes);
  }
}
Object.defineProperty(KeyObject.prototype, Symbol.toStringTag, { value: 'KeyObject', configurable: true });

/** Remembers the bytes behind a key of WebCrypto. */
export function keepSecret(key, bytes) {
  secrets.set(key, bytes);
}

export function secretOf(key) {
  return secrets.get(key);
}

/** The bytes of a key given as text, buffer or KeyObject. */
export function keyBytes(key, name, encoding) {
  const secret = typeof key === 'object' && key !== null ? secrets.get(key) : undefined;
  if (secret) return secret;
  if (typeof key !== 'string' && viewOf(key) === undefined) {
    throw invalidArgType(name, ['ArrayBuffer', 'Buffer', 'TypedArray', 'DataView', 'string', 'KeyObject', 'CryptoKey'], key);
  }
  return bytesOf(key, name, encoding);
}

export function createSecretKey(key, encoding) {
  const bytes = bytesOf(key, 'key', encoding);
  return new SecretKeyObject(bytes);
}

function newKey(type, options) {
  validateString(type, 'type');
  validateObject(options, 'options');
  const { length } = options;
  if (type === 'hmac') {
    if (!(length >= 8 && length <= 2 ** 31 - 1)) throw outOfRange('options.length', '>= 8 && <= 2147483647', length);
  } else if (type === 'aes') {
    if (![128, 192, 256].includes(length)) throw invalidArgValue('options.length', length, 'must be one of: 128, 192, 256');
  } else {
    throw invalidArgValue('type', type, 'must be a supported key type');
  }
  const bytes = new Uint8Array(length >> 3);
  binding.random(bytes);
  return new SecretKeyObject(bytes);
}

export function generateKeySync(type, options) {
  return newKey(type, options);
}

export function generateKey(type, options, callback) {
  validateFunction(callback, 'callback');
  defer(() => newKey(type, options), callback);
}

/** Key pairs, signatures and certificates: named, and refused. */
export function unavailable(name) {
  return {
    [name]: function () {
      throw nodeError(
        Error,
        'ERR_METHOD_NOT_IMPLEMENTED',
        `crypto.${name} is not implemented in the sandbox: it has hashes, HMAC, key derivation, AES and random numbers, but no public-key cryptography`,
      );
    },
  }[name];
}
