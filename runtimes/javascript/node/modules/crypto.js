// node:crypto.

import { nodeError } from '../internal/errors.js';
import { constants } from './crypto/constants.js';
import { Cipheriv, createCipheriv, createDecipheriv, Decipheriv, getCipherInfo, getCiphers } from './crypto/ciphers.js';
import { HASHES } from './crypto/digests.js';
import { createHash, createHmac, deprecatedHash, deprecatedHmac, hash } from './crypto/hash.js';
import { hkdf, hkdfSync, pbkdf2, pbkdf2Sync, scrypt, scryptSync, timingSafeEqual } from './crypto/kdf.js';
import { createSecretKey, generateKey, generateKeySync, KeyObject, unavailable } from './crypto/keys.js';
import { getRandomValues, randomBytes, randomFill, randomFillSync, randomInt, randomUUID, randomUUIDv7 } from './crypto/random.js';
import { subtle, webcrypto } from './crypto/subtle.js';

const missing = (...names) => Object.fromEntries(names.map((name) => [name, unavailable(name)]));

const crypto = {
  ...missing('argon2', 'argon2Sync', 'checkPrime', 'checkPrimeSync'),
  createCipheriv,
  createDecipheriv,
  ...missing('createDiffieHellman', 'createDiffieHellmanGroup', 'createECDH'),
  createHash,
  createHmac,
  ...missing('createPrivateKey', 'createPublicKey'),
  createSecretKey,
  ...missing('createSign', 'createVerify', 'diffieHellman', 'generatePrime', 'generatePrimeSync'),
  getCiphers,
  getCipherInfo,
  getCurves: () => [],
  ...missing('getDiffieHellman'),
  getHashes: () => [...HASHES],
  hkdf,
  hkdfSync,
  pbkdf2,
  pbkdf2Sync,
  ...missing('generateKeyPair', 'generateKeyPairSync'),
  generateKey,
  generateKeySync,
  ...missing('privateDecrypt', 'privateEncrypt', 'publicDecrypt', 'publicEncrypt'),
  randomBytes,
  randomFill,
  randomFillSync,
  randomInt,
  randomUUID,
  randomUUIDv7,
  scrypt,
  scryptSync,
  ...missing('sign', 'setEngine'),
  timingSafeEqual,
  getFips: () => 0,
  setFips(value) {
    if (value) throw nodeError(Error, 'ERR_CRYPTO_FIPS_UNAVAILABLE', 'Cannot set FIPS mode in a non-FIPS build.');
  },
  ...missing('verify'),
  hash,
  ...missing('encapsulate', 'decapsulate', 'Certificate'),
  Cipheriv,
  Decipheriv,
  ...missing('DiffieHellman', 'DiffieHellmanGroup', 'ECDH'),
  Hash: deprecatedHash,
  Hmac: deprecatedHmac,
  KeyObject,
  ...missing('Sign', 'Verify', 'X509Certificate'),
  secureHeapUsed: () => ({ total: 0, used: 0, utilization: 0, min: 0 }),
  constants,
  webcrypto,
  subtle,
  getRandomValues,
};

Object.defineProperties(crypto, {
  fips: { get: () => 0, set: crypto.setFips, configurable: true },
  prng: { value: randomBytes, writable: true, configurable: true },
  pseudoRandomBytes: { value: randomBytes, writable: true, configurable: true },
  rng: { value: randomBytes, writable: true, configurable: true },
});

export default crypto;
