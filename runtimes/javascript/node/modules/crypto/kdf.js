// Keys from passwords: pbkdf2, scrypt, hkdf.

import { binding } from '../../internal/binding.js';
import { nodeError, outOfRange } from '../../internal/errors.js';
import { validateFunction, validateInteger, validateInt32, validateString, validateUint32 } from '../../internal/validators.js';
import { defer } from '../../internal/task.js';
import { asBuffer } from '../buffer/buffer.js';
import { bytesOf, viewOf } from './bytes.js';
import { digestFor, Keyed, keyedDigest } from './digests.js';
import { keyBytes } from './keys.js';

const invalidDigest = (name) => nodeError(TypeError, 'ERR_CRYPTO_INVALID_DIGEST', `Invalid digest: ${name}`);

function pbkdf2Plan(password, salt, iterations, keylen, digest) {
  validateString(digest, 'digest');
  const secret = bytesOf(password, 'password');
  const grain = bytesOf(salt, 'salt');
  validateInt32(iterations, 'iterations', 1);
  validateInt32(keylen, 'keylen', 0);
  const hash = digestFor(digest);
  if (hash === undefined || hash.xof) throw invalidDigest(digest);
  return () => asBuffer(pbkdf2Bytes(hash, secret, grain, iterations, keylen));
}

export function pbkdf2Bytes(hash, password, salt, iterations, length) {
  const out = new Uint8Array(length);
  if (binding.pbkdf2(hash.name, password, salt, iterations, out)) return out;
  const keyed = Keyed.start(hash, password);
  const counter = new Uint8Array(4);
  for (let block = 1, at = 0; at < length; block++, at += hash.outputLength) {
    new DataView(counter.buffer).setUint32(0, block);
    let round = keyed.clone();
    round.update(salt);
    round.update(counter);
    let value = round.digest();
    const sum = value.slice();
    for (let iteration = 1; iteration < iterations; iteration++) {
      round = keyed.clone();
      round.update(value);
      value = round.digest();
      for (let index = 0; index < sum.length; index++) sum[index] ^= value[index];
    }
    out.set(at + sum.length <= length ? sum : sum.subarray(0, length - at), at);
  }
  return out;
}

export function pbkdf2Sync(password, salt, iterations, keylen, digest) {
  return pbkdf2Plan(password, salt, iterations, keylen, digest)();
}

export function pbkdf2(password, salt, iterations, keylen, digest, callback) {
  if (typeof digest === 'function') {
    callback = digest;
    digest = undefined;
  }
  const work = pbkdf2Plan(password, salt, iterations, keylen, digest);
  validateFunction(callback, 'callback');
  defer(work, callback);
}

function scryptPlan(password, salt, keylen, options) {
  const secret = bytesOf(password, 'password');
  const grain = bytesOf(salt, 'salt');
  validateInt32(keylen, 'keylen', 0);
  const pick = (short, long, fallback) => {
    if (options?.[short] !== undefined && options[long] !== undefined) {
      throw nodeError(TypeError, 'ERR_INCOMPATIBLE_OPTION_PAIR', `Option "${short}" cannot be used in combination with option "${long}"`);
    }
    const value = options?.[short] ?? options?.[long];
    if (value === undefined) return fallback;
    validateUint32(value, options[short] !== undefined ? short : long);
    return value;
  };
  const N = pick('N', 'cost', 16384);
  const r = pick('r', 'blockSize', 8);
  const p = pick('p', 'parallelization', 1);
  let maxmem = 32 * 1024 * 1024;
  if (options?.maxmem !== undefined) {
    validateInteger(options.maxmem, 'maxmem', 0);
    maxmem = options.maxmem || maxmem;
  }
  const badParams = (reason) => nodeError(RangeError, 'ERR_CRYPTO_INVALID_SCRYPT_PARAMS', `Invalid scrypt params${reason}`);
  if (N <= 1 || (N & (N - 1)) !== 0) throw badParams('');
  if (128 * N * r + 128 * r * p + 32 * r * 4 > maxmem) throw badParams(': memory limit exceeded');
  return () => {
    const out = new Uint8Array(keylen);
    if (keylen === 0) return asBuffer(out);
    binding.scrypt(secret, grain, N, r, p, out);
    return asBuffer(out);
  };
}

export function scryptSync(password, salt, keylen, options) {
  return scryptPlan(password, salt, keylen, options)();
}

export function scrypt(password, salt, keylen, options, callback) {
  if (callback === undefined) {
    callback = options;
    options = undefined;
  }
  const work = scryptPlan(password, salt, keylen, options);
  validateFunction(callback, 'callback');
  defer(work, callback);
}

function hkdfPlan(digest, key, salt, info, keylen) {
  validateString(digest, 'digest');
  const secret = keyBytes(key, 'ikm');
  const grain = bytesOf(salt, 'salt');
  const context = bytesOf(info, 'info');
  validateInteger(keylen, 'length', 0, 2 ** 31 - 1);
  if (context.length > 1024) throw outOfRange('info', 'must not contain more than 1024 bytes', context.length);
  const hash = digestFor(digest);
  if (hash === undefined || hash.xof) throw invalidDigest(digest);
  if (keylen > hash.outputLength * 255) throw nodeError(RangeError, 'ERR_CRYPTO_INVALID_KEYLEN', 'Invalid key length');
  return () => hkdfBytes(hash, secret, grain, context, keylen).buffer;
}

export function hkdfBytes(hash, secret, salt, info, length) {
  const prk = keyedDigest(hash, salt.length === 0 ? new Uint8Array(hash.outputLength) : salt, secret);
  const out = new Uint8Array(length);
  let previous = new Uint8Array(0);
  for (let block = 1, at = 0; at < length; block++, at += hash.outputLength) {
    const keyed = Keyed.start(hash, prk);
    keyed.update(previous);
    keyed.update(info);
    keyed.update(Uint8Array.of(block));
    previous = keyed.digest();
    out.set(at + previous.length <= length ? previous : previous.subarray(0, length - at), at);
  }
  return out;
}

export function hkdfSync(digest, ikm, salt, info, keylen) {
  return hkdfPlan(digest, ikm, salt, info, keylen)();
}

export function hkdf(digest, ikm, salt, info, keylen, callback) {
  const work = hkdfPlan(digest, ikm, salt, info, keylen);
  validateFunction(callback, 'callback');
  defer(work, callback);
}

export function timingSafeEqual(buf1, buf2) {
  const a = viewOf(buf1);
  const b = viewOf(buf2);
  const bad = a === undefined ? 'buf1' : b === undefined ? 'buf2' : undefined;
  if (bad)
    throw nodeError(TypeError, 'ERR_INVALID_ARG_TYPE', `The "${bad}" argument must be an instance of ArrayBuffer, Buffer, TypedArray, or DataView.`);
  if (a.length !== b.length) throw nodeError(RangeError, 'ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH', 'Input buffers must have the same byte length');
  let difference = 0;
  for (let index = 0; index < a.length; index++) difference |= a[index] ^ b[index];
  return difference === 0;
}
