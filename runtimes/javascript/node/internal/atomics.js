// `Atomics`, which the engine leaves out on WASI: with one thread every operation is one already. Scripts use
// `Atomics.wait` to sleep.

import { binding } from './binding.js';

const INTEGERS = ['Int8Array', 'Uint8Array', 'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array', 'BigInt64Array', 'BigUint64Array'];
const FOREVER = 2 ** 40;

/** The index, if `array` is an array of integers and has it. */
function place(array, index, kinds = INTEGERS) {
  if (!kinds.includes(binding.className(array))) throw new TypeError('[object Array] is not an integer typed array.');
  const at = Math.trunc(Number(index)) || 0;
  if (at < 0 || at >= array.length) throw new RangeError('Invalid atomic access index');
  return at;
}

const converted = (array, value) => (typeof array[0] === 'bigint' ? BigInt(value) : Math.trunc(Number(value)) || 0);

/** A method that puts what `combine` makes of the old and the given value, and answers the old one. */
const modifying = (combine) => (array, index, value) => {
  const at = place(array, index);
  const given = converted(array, value);
  const old = array[at];
  array[at] = combine(old, given);
  return old;
};

function waitOn(array, index, value) {
  const at = place(array, index, ['Int32Array', 'BigInt64Array']);
  return array[at] === converted(array, value);
}

const methods = {
  add: modifying((a, b) => a + b),
  and: modifying((a, b) => a & b),
  exchange: modifying((a, b) => b),
  or: modifying((a, b) => a | b),
  sub: modifying((a, b) => a - b),
  xor: modifying((a, b) => a ^ b),
  compareExchange(array, index, expected, replacement) {
    const at = place(array, index);
    const old = array[at];
    if (old === converted(array, expected)) array[at] = converted(array, replacement);
    return old;
  },
  isLockFree: (size) => [1, 2, 4, 8].includes(size),
  load: (array, index) => array[place(array, index)],
  notify(array, index) {
    place(array, index, ['Int32Array', 'BigInt64Array']);
    return 0;
  },
  pause() {},
  store(array, index, value) {
    const at = place(array, index);
    const stored = converted(array, value);
    array[at] = stored;
    return stored;
  },
  wait(array, index, value, timeout) {
    if (!waitOn(array, index, value)) return 'not-equal';
    const limit = timeout === undefined ? FOREVER : Number(timeout);
    binding.wait(Number.isNaN(limit) ? FOREVER : Math.max(0, Math.min(limit, FOREVER)), false);
    return 'timed-out';
  },
  waitAsync(array, index, value, timeout) {
    if (!waitOn(array, index, value)) return { async: false, value: 'not-equal' };
    return {
      async: true,
      value: new Promise((resolve) => {
        if (timeout !== undefined && timeout !== Infinity) globalThis.setTimeout(resolve, timeout, 'timed-out');
      }),
    };
  },
};

export const Atomics = {};
for (const name of Object.keys(methods)) {
  Object.defineProperty(methods[name], 'name', { value: name, configurable: true });
  Object.defineProperty(Atomics, name, { value: methods[name], writable: true, enumerable: false, configurable: true });
}
Object.defineProperty(Atomics, Symbol.toStringTag, { value: 'Atomics', configurable: true });
