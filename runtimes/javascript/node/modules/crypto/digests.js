// The hash functions by name: those of the engine where it has them, the package's otherwise.

import { blake2b, blake2s } from '@noble/hashes/blake2.js';
import { ripemd160 } from '@noble/hashes/legacy.js';
import { sha512_224, sha512_256 } from '@noble/hashes/sha2.js';
import { sha3_224, sha3_256, sha3_384, sha3_512, shake128, shake256 } from '@noble/hashes/sha3.js';
import { binding } from '../../internal/binding.js';

/** A digest under way in the engine. */
class EngineDigest {
  #handle;

  constructor(handle) {
    this.#handle = handle;
  }

  update(bytes) {
    binding.hashUpdate(this.#handle, bytes);
  }

  digest() {
    return binding.hashDigest(this.#handle);
  }

  clone() {
    return new EngineDigest(binding.hashCopy(this.#handle));
  }
}

const fromEngine = (name, blockLength, outputLength) => ({
  name,
  blockLength,
  outputLength,
  start: () => new EngineDigest(binding.hashNew(name)),
});

const fromPackage = (name, hash, outputLength = hash.outputLen, options = undefined) => ({
  name,
  blockLength: hash.blockLen,
  outputLength,
  start: (length) => hash.create(length === undefined ? options : { dkLen: length }),
});

/** MD5 and SHA-1, one after the other. */
class Pair {
  #both;

  constructor(both) {
    this.#both = both;
  }

  update(bytes) {
    for (const each of this.#both) each.update(bytes);
  }

  digest() {
    const bytes = new Uint8Array(36);
    bytes.set(this.#both[0].digest());
    bytes.set(this.#both[1].digest(), 16);
    return bytes;
  }

  clone() {
    return new Pair(this.#both.map((each) => each.clone()));
  }
}

const md5 = fromEngine('md5', 64, 16);
const sha1 = fromEngine('sha1', 64, 20);
const sha224 = fromEngine('sha224', 64, 28);
const sha256 = fromEngine('sha256', 64, 32);
const sha384 = fromEngine('sha384', 128, 48);
const sha512 = fromEngine('sha512', 128, 64);

const DIGESTS = {
  __proto__: null,
  md5,
  sha1,
  sha224,
  sha256,
  sha384,
  sha512,
  'md5-sha1': { name: 'md5-sha1', blockLength: 64, outputLength: 36, start: () => new Pair([md5.start(), sha1.start()]) },
  'sha512-224': fromPackage('sha512-224', sha512_224),
  'sha512-256': fromPackage('sha512-256', sha512_256),
  'sha3-224': fromPackage('sha3-224', sha3_224),
  'sha3-256': fromPackage('sha3-256', sha3_256),
  'sha3-384': fromPackage('sha3-384', sha3_384),
  'sha3-512': fromPackage('sha3-512', sha3_512),
  shake128: { ...fromPackage('shake128', shake128, 16, { dkLen: 16 }), xof: true },
  shake256: { ...fromPackage('shake256', shake256, 32, { dkLen: 32 }), xof: true },
  ripemd160: fromPackage('ripemd160', ripemd160),
  blake2b512: fromPackage('blake2b512', blake2b, 64, { dkLen: 64 }),
  blake2s256: fromPackage('blake2s256', blake2s, 32, { dkLen: 32 }),
};

const ALIASES = {
  __proto__: null,
  'ssl3-md5': 'md5',
  'ssl3-sha1': 'sha1',
  ripemd: 'ripemd160',
  rmd160: 'ripemd160',
  'sha-1': 'sha1',
  'sha-224': 'sha224',
  'sha-256': 'sha256',
  'sha-384': 'sha384',
  'sha-512': 'sha512',
  'sha2-224': 'sha224',
  'sha2-256': 'sha256',
  'sha2-384': 'sha384',
  'sha2-512': 'sha512',
  'sha512/224': 'sha512-224',
  'sha512/256': 'sha512-256',
  'sha-512/224': 'sha512-224',
  'sha-512/256': 'sha512-256',
  'shake-128': 'shake128',
  'shake-256': 'shake256',
  'blake2b-512': 'blake2b512',
  'blake2s-256': 'blake2s256',
  'ripemd-160': 'ripemd160',
};

/** The hash function of that name, in any case and in OpenSSL's other spellings; `undefined` if unknown. */
export function digestFor(algorithm) {
  let name = `${algorithm}`
    .toLowerCase()
    .replace(/^rsa-/, '')
    .replace(/withrsa(encryption)?$/, '');
  name = name.replace(/^id-rsassa-pkcs1-v1_5-with-/, '');
  return DIGESTS[name] ?? DIGESTS[ALIASES[name]];
}

// OpenSSL's names of the functions above.
export const HASHES = [
  'RSA-MD5',
  'RSA-RIPEMD160',
  'RSA-SHA1',
  'RSA-SHA224',
  'RSA-SHA256',
  'RSA-SHA3-224',
  'RSA-SHA3-256',
  'RSA-SHA3-384',
  'RSA-SHA3-512',
  'RSA-SHA384',
  'RSA-SHA512',
  'RSA-SHA512/224',
  'RSA-SHA512/256',
  'blake2b512',
  'blake2s256',
  'id-rsassa-pkcs1-v1_5-with-sha3-224',
  'id-rsassa-pkcs1-v1_5-with-sha3-256',
  'id-rsassa-pkcs1-v1_5-with-sha3-384',
  'id-rsassa-pkcs1-v1_5-with-sha3-512',
  'md5',
  'md5-sha1',
  'md5WithRSAEncryption',
  'ripemd',
  'ripemd160',
  'ripemd160WithRSA',
  'rmd160',
  'sha1',
  'sha1WithRSAEncryption',
  'sha224',
  'sha224WithRSAEncryption',
  'sha256',
  'sha256WithRSAEncryption',
  'sha3-224',
  'sha3-256',
  'sha3-384',
  'sha3-512',
  'sha384',
  'sha384WithRSAEncryption',
  'sha512',
  'sha512-224',
  'sha512-224WithRSAEncryption',
  'sha512-256',
  'sha512-256WithRSAEncryption',
  'sha512WithRSAEncryption',
  'shake128',
  'shake256',
  'ssl3-md5',
  'ssl3-sha1',
];

/** A keyed hash (HMAC) under way. */
export class Keyed {
  #inner;
  #outer;

  constructor(inner, outer) {
    this.#inner = inner;
    this.#outer = outer;
  }

  static start(digest, key) {
    if (key.length > digest.blockLength) {
      const hash = digest.start();
      hash.update(key);
      key = hash.digest();
    }
    const padded = new Uint8Array(digest.blockLength);
    padded.set(key);
    const inner = digest.start();
    const outer = digest.start();
    inner.update(padded.map((byte) => byte ^ 0x36));
    outer.update(padded.map((byte) => byte ^ 0x5c));
    return new Keyed(inner, outer);
  }

  update(bytes) {
    this.#inner.update(bytes);
  }

  digest() {
    this.#outer.update(this.#inner.digest());
    return this.#outer.digest();
  }

  clone() {
    return new Keyed(this.#inner.clone(), this.#outer.clone());
  }
}

/** The HMAC of `data` at once. */
export function keyedDigest(digest, key, data) {
  const keyed = Keyed.start(digest, key);
  keyed.update(data);
  return keyed.digest();
}
