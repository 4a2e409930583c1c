// node:assert.

import { nodeError } from '../internal/errors.js';
import { validateOneOf } from '../internal/validators.js';
import { AssertionError } from './assert/assertion_error.js';
import { innerOk, kOptions, methods } from './assert/methods.js';
import { absentCall } from './refused.js';

function ok(...args) {
  innerOk(ok, args.length, ...args);
}
const assert = ok;

function Assert(options) {
  if (!new.target) throw nodeError(TypeError, 'ERR_CONSTRUCT_CALL_REQUIRED', 'Class constructor Assert cannot be invoked without `new`');
  const own = { __proto__: null, strict: true, skipPrototype: false, ...options };
  if (own.diff !== undefined) validateOneOf(own.diff, 'options.diff', ['simple', 'full']);
  this.AssertionError = AssertionError;
  Object.defineProperty(this, kOptions, { value: own });
  if (own.strict) Object.assign(this, strictNames());
}

const strictNames = () => ({
  equal: methods.strictEqual,
  deepEqual: methods.deepStrictEqual,
  notEqual: methods.notStrictEqual,
  notDeepEqual: methods.notDeepStrictEqual,
});

Object.assign(Assert.prototype, methods, {
  ok: function ok(...args) {
    innerOk(ok, args.length, ...args);
  },
});

const CallTracker = absentCall('assert', 'CallTracker', 'it is deprecated in Node');

const { fail, equal, notEqual, deepEqual, notDeepEqual, deepStrictEqual, notDeepStrictEqual, strictEqual, notStrictEqual, partialDeepStrictEqual } =
  methods;
const { match, doesNotMatch, throws, rejects, doesNotThrow, doesNotReject, ifError } = methods;
Object.assign(assert, {
  AssertionError,
  CallTracker,
  ok,
  fail,
  equal,
  notEqual,
  deepEqual,
  notDeepEqual,
  deepStrictEqual,
  notDeepStrictEqual,
  strictEqual,
  notStrictEqual,
  partialDeepStrictEqual,
  match,
  doesNotMatch,
  throws,
  rejects,
  doesNotThrow,
  doesNotReject,
  ifError,
});

export function strict(...args) {
  innerOk(strict, args.length, ...args);
}
Object.assign(strict, assert, strictNames());
strict.strict = strict;
assert.strict = strict;
assert.Assert = strict.Assert = Assert;

export default assert;
