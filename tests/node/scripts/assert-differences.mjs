// The differences that assertion messages show.
import assert from 'node:assert/strict';
const show = (actual, expected, check = assert.deepEqual) => {
  try {
    check(actual, expected);
    console.log('equal');
  } catch (error) {
    console.log(error.message);
  }
  console.log('---');
};
show(1, 2);
show('a', 'b', assert.equal);
show('same start, other end', 'same start, different end', assert.equal);
show('line 1\nline 2\nline 3', 'line 1\nline two\nline 3', assert.equal);
show([1, 2, 3], [1, 2, 4]);
show({ a: 1, b: { c: [1, 2] } }, { a: 1, b: { c: [1, 3] } });
show({ a: 1 }, { b: 1 });
show([1, 2, 3, 4, 5], [1, 2, 3]);
show(new Map([['k', 1]]), new Map([['k', 2]]));
show(
  { list: Array.from({ length: 20 }, (_, i) => i) },
  { list: Array.from({ length: 20 }, (_, i) => (i === 10 ? -1 : i)) },
);
show(null, undefined, assert.equal);
show({ a: 1 }, { a: 1 }, assert.equal);
show([], {}, assert.deepEqual);
show({ a: undefined }, {}, assert.deepEqual);
show(NaN, 0, assert.equal);
show('x'.repeat(30), 'y'.repeat(30), assert.equal);
show({ a: 1 }, { a: 1 }, assert.notDeepEqual);
show(1, 1, assert.notEqual);
