// Depth, line breaks, grouping of numbers, long strings, cycles, limits.
import util, { inspect } from 'util';

const deep = { level1: { level2: { level3: { level4: 'bottom', list: [1, [2, [3, [4]]]] } } } };
console.log(deep);
console.log(inspect(deep, { depth: 0 }), inspect(deep, { depth: null }), inspect(deep, false, 1));
const cycle = { name: 'c', list: [] };
cycle.self = cycle;
cycle.list.push(cycle, { back: cycle.list });
console.log(cycle);
console.log(Array.from({ length: 120 }, (_, i) => i));
console.log(Array.from({ length: 30 }, (_, i) => `item ${i}`));
console.log(Array.from({ length: 7 }, (_, i) => 'x'.repeat(i * 3)));
console.log(inspect('long '.repeat(40)), inspect({ text: 'long '.repeat(30), other: 1 }));
console.log(inspect({ text: 'several\nlines\nof text', list: ['a\nb'] }));
console.log(inspect('x'.repeat(10_050)).length, inspect('x'.repeat(50), { maxStringLength: 10 }));
console.log(
  inspect([1, 2, 3, 4, 5], { maxArrayLength: 2 }),
  inspect(new Set([1, 2, 3]), { maxArrayLength: 1 }),
  inspect(
    new Map([
      [1, 2],
      [3, 4],
    ]),
    { maxArrayLength: 0 },
  ),
);
console.log(
  inspect({ b: 1, a: 2, c: { z: 1, y: 2 } }, { sorted: true }),
  inspect({ a: 1, b: [1, 2] }, { compact: false }),
  inspect({ a: { b: 1 } }, { breakLength: 5 }),
);
console.log(
  inspect({ a: [1, 2, { b: 3 }], c: new Map([['k', { v: [1] }]]) }, { compact: 1 }),
  inspect({ a: 'x', b: 'y' }, { breakLength: Infinity }),
);
console.log(inspect({ n: 1234567.891, big: 123456789n, list: [10000] }, { numericSeparator: true }));
console.log(
  inspect(
    {
      get a() {
        return { x: 1 };
      },
      set b(v) {},
    },
    { getters: true },
  ),
);
console.log(
  inspect(Object.defineProperty({ a: 1 }, 'hidden', { value: 2 }), { showHidden: true }),
  inspect([1], { showHidden: true }),
);
console.log(
  inspect(new Proxy({ a: 1 }, { get: () => 5 }), { showProxy: true }),
  inspect(new Proxy([], {}), { showProxy: 1 }),
);
console.log({
  package: {
    name: 'skill',
    version: '1.0.0',
    scripts: { test: 'node --test', build: 'tsc' },
    keywords: ['a', 'b'],
    private: true,
  },
});
console.log([
  { id: 1, name: 'first', tags: ['x', 'y'] },
  { id: 2, name: 'second', tags: [] },
]);
console.log(
  [
    ['a', 1],
    ['b', 2],
  ],
  [[]],
  [{}],
  { a: [], b: {} },
  [[[[]]]],
  [[[[1]]]],
  { m: new Map([[{ a: { b: { c: 1 } } }, 1]]) },
);
console.log(inspect(new Map([['key', new Map([['inner', new Set([1])]])]]), { depth: 1 }));
console.log(
  inspect({ 'key with space': 1, valid_key: 2, '1a': 3, ünï: 4, "quo'te": 5 }),
  util.inspect.defaultOptions.depth,
);
console.log([1.5, 22.25, 333, -4, 5, 6, 7, 8, 9, 10, 11, 12], ['a', 'bb', 'ccc', 'dddd', 'eeeee', 'f', 'g', 'h']);
