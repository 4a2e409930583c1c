// assert: what passes silently, and what the failures carry.
const assert = require('assert');
assert(true);
assert.ok(1);
assert.equal(1, '1');
assert.strictEqual('a', 'a');
assert.deepEqual({ a: 1 }, { a: '1' });
assert.deepStrictEqual([1, { b: new Set([2]) }], [1, { b: new Set([2]) }]);
assert.notStrictEqual(1, 2);
assert.notDeepStrictEqual({ a: 1 }, { a: 2 });
assert.throws(() => {
  throw new TypeError('bad');
}, TypeError);
assert.throws(() => {
  throw new Error('bad thing');
}, /thing/);
assert.throws(
  () => {
    throw new Error('x');
  },
  { message: 'x', name: 'Error' },
);
assert.doesNotThrow(() => {});
assert.match('abc', /b/);
assert.doesNotMatch('abc', /x/);
assert.ifError(null);
assert.ifError(undefined);
assert.throws(
  () => {
    throw new Error('v');
  },
  (error) => error.message === 'v',
);
assert.partialDeepStrictEqual({ a: 1, b: 2 }, { a: 1 });

const attempts = {
  ok: () => assert(false, 'own message'),
  'ok with error': () => assert(0, new RangeError('own error')),
  fail: () => assert.fail(),
  'fail message': () => assert.fail('why'),
  equal: () => assert.equal(1, 2),
  strictEqual: () => assert.strictEqual(1, 2),
  'strictEqual message': () => assert.strictEqual('a', 'b', 'letters differ'),
  notEqual: () => assert.notEqual(1, 1),
  notStrictEqual: () => assert.notStrictEqual('x', 'x'),
  'throws nothing': () => assert.throws(() => {}),
  'throws nothing, typed': () => assert.throws(() => {}, TypeError, 'expected it'),
  'throws other': () =>
    assert.throws(() => {
      throw new Error('other');
    }, /pattern/),
  doesNotThrow: () =>
    assert.doesNotThrow(() => {
      throw new Error('it did');
    }),
  ifError: () => assert.ifError(new Error('was set')),
  'ifError value': () => assert.ifError('text'),
  match: () => assert.match('abc', /x/),
  'match type': () => assert.match(5, /x/),
  'no function': () => assert.throws('x'),
  'no argument': () => assert.strictEqual(1),
  'equal nan': () => assert.notEqual(NaN, NaN),
};
for (const [name, attempt] of Object.entries(attempts)) {
  try {
    attempt();
    console.log(name, 'passed');
  } catch (error) {
    console.log(
      name,
      '|',
      error.name,
      error.code,
      error.generatedMessage,
      error.operator,
      String(error.actual),
      error.expected?.name ?? String(error.expected),
      '|',
      error.message,
    );
  }
}
(async () => {
  await assert.rejects(Promise.reject(new Error('r')), /r/);
  await assert.rejects(async () => {
    throw new TypeError('t');
  }, TypeError);
  await assert.doesNotReject(Promise.resolve());
  await assert.rejects(Promise.resolve(1)).catch((error) => console.log(error.code, error.message));
  await assert.doesNotReject(Promise.reject(new Error('no'))).catch((error) => console.log(error.code, error.message));
})();
console.log(
  assert.strict === require('assert/strict'),
  assert.strict.equal === assert.strictEqual,
  new assert.AssertionError({ actual: 1, expected: 2, operator: 'strictEqual' }) instanceof Error,
);
