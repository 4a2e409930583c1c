// Hash and Hmac, and the one-shot crypto.hash.

import { invalidArgType, invalidArgValue, nodeError } from '../../internal/errors.js';
import { validateObject, validateString, validateUint32 } from '../../internal/validators.js';
import stream from '../stream.js';
import { deprecate } from '../util/functions.js';
import { bytesOf, encoded, textBytes, viewOf } from './bytes.js';
import { digestFor, Keyed } from './digests.js';
import { keyBytes } from './keys.js';

const { Transform } = stream;
const states = new WeakMap();

const finalized = () => nodeError(Error, 'ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');

function feed(self, data, encoding) {
  const state = states.get(self);
  if (state.done) throw finalized();
  if (typeof data === 'string') {
    state.digest.update(textBytes(data, encoding));
    return;
  }
  const view = ArrayBuffer.isView(data) ? viewOf(data) : undefined;
  if (view === undefined) throw invalidArgType('data', ['string', 'Buffer', 'TypedArray', 'DataView'], data);
  state.digest.update(view);
}

function result(state) {
  return (state.bytes ??= state.digest.digest());
}

function streamMethods(Class) {
  Class.prototype._transform = function (chunk, encoding, callback) {
    feed(this, chunk, encoding);
    callback();
  };
  Class.prototype._flush = function (callback) {
    // The digest may still be asked for once the stream has given it.
    this.push(encoded(result(states.get(this))));
    callback();
  };
}

export function Hash(algorithm, options) {
  if (!new.target) return new Hash(algorithm, options);
  const source = states.get(algorithm);
  if (source) {
    Transform.call(this, options);
    states.set(this, { ...source, digest: source.digest.clone() });
    return;
  }
  validateString(algorithm, 'algorithm');
  const digest = digestFor(algorithm);
  if (digest === undefined) throw new Error('Digest method not supported');
  const length = typeof options === 'object' && options !== null ? options.outputLength : undefined;
  if (length !== undefined) validateUint32(length, 'options.outputLength');
  if (length !== undefined && !digest.xof && length !== digest.outputLength) throw new Error('Unsupported state or unable to create hash');
  Transform.call(this, options);
  states.set(this, { digest: digest.start(digest.xof ? length : undefined), done: false });
}
Object.setPrototypeOf(Hash.prototype, Transform.prototype);
Object.setPrototypeOf(Hash, Transform);
streamMethods(Hash);

Hash.prototype.copy = function copy(options) {
  if (states.get(this).done) throw finalized();
  return new Hash(this, options);
};

Hash.prototype.update = function update(data, encoding) {
  feed(this, data, encoding);
  return this;
};

Hash.prototype.digest = function digest(outputEncoding) {
  const state = states.get(this);
  if (state.done) throw finalized();
  state.done = true;
  return encoded(result(state), outputEncoding === undefined ? undefined : `${outputEncoding}`);
};

export function Hmac(hmac, key, options) {
  if (!new.target) return new Hmac(hmac, key, options);
  validateString(hmac, 'hmac');
  const bytes = keyBytes(key, 'key', options?.encoding);
  const digest = digestFor(hmac);
  if (digest === undefined || digest.xof) throw nodeError(TypeError, 'ERR_CRYPTO_INVALID_DIGEST', `Invalid digest: ${hmac}`);
  Transform.call(this, options);
  states.set(this, { digest: Keyed.start(digest, bytes), done: false });
}
Object.setPrototypeOf(Hmac.prototype, Transform.prototype);
Object.setPrototypeOf(Hmac, Transform);
streamMethods(Hmac);

Hmac.prototype.update = Hash.prototype.update;

Hmac.prototype.digest = function digest(outputEncoding) {
  const state = states.get(this);
  // A second call gives nothing instead of failing, as it always did.
  if (state.done) return encoded(new Uint8Array(0), outputEncoding);
  state.done = true;
  return encoded(result(state), outputEncoding);
};

const deprecatedHash = deprecate(Hash, 'crypto.Hash constructor is deprecated.', 'DEP0179');
const deprecatedHmac = deprecate(Hmac, 'crypto.Hmac constructor is deprecated.', 'DEP0181');

export function createHash(algorithm, options) {
  return new Hash(algorithm, options);
}

export function createHmac(hmac, key, options) {
  return new Hmac(hmac, key, options);
}

export function hash(algorithm, input, options) {
  validateString(algorithm, 'algorithm');
  if (typeof input !== 'string' && !ArrayBuffer.isView(input)) throw invalidArgType('input', ['Buffer', 'TypedArray', 'DataView', 'string'], input);
  let encoding = 'hex';
  let length;
  if (typeof options === 'string') {
    encoding = options;
  } else if (options !== undefined) {
    validateObject(options, 'options');
    encoding = options.outputEncoding ?? 'hex';
    length = options.outputLength;
  }
  validateString(encoding, 'outputEncoding');
  const known = ['hex', 'base64', 'base64url', 'buffer', 'latin1', 'binary', 'ascii', 'utf8', 'utf-8', 'ucs2', 'ucs-2', 'utf16le', 'utf-16le'];
  if (!known.includes(encoding.toLowerCase())) throw invalidArgValue('outputEncoding', encoding);
  const digest = digestFor(algorithm);
  if (digest === undefined) throw new Error('Digest method not supported');
  const state = digest.start(digest.xof ? length : undefined);
  state.update(bytesOf(input, 'input'));
  return encoded(state.digest(), encoding.toLowerCase());
}

export { deprecatedHash, deprecatedHmac };
