// util.inspect of plain values: quotes, numbers, dates, functions, symbols, errors' names.
const util = require('util');
const show = (...values) => values.forEach((value) => console.log(util.inspect(value)));

show('text', "it's", 'both \' and "', '`all` \' "', 'line\nbreak', 'tab\t\x00\x7f', 'ünï', '');
show(0, -0, 1.5, NaN, Infinity, 1e21, 123456789012, 10n, -5n, true, null, undefined);
show(Symbol('s'), Symbol(), Symbol.iterator, Symbol('with space'));
show(
  function named() {},
  () => {},
  async () => {},
  function* gen() {},
  async function* agen() {},
  class A {},
  class B extends Array {},
  Math.max,
);
show(
  new Date(0),
  new Date(NaN),
  /re/gi,
  new String('boxed'),
  new Number(3),
  new Boolean(false),
  Object(1n),
  Object(Symbol('x')),
);
show([], {}, [1, 2, 3], { a: 1, 'b-c': 2, 3: 4, [Symbol('k')]: 5 }, [undefined, null], [1, , 3], [, , ,], new Array(3));
show(
  Object.create(null),
  Object.assign(Object.create(null), { x: 1 }),
  Object.create({ inherited: 1 }),
  new (class Foo {
    constructor() {
      this.x = 1;
    }
  })(),
  new (class {})(),
);
show(
  new Map([
    ['a', 1],
    [{ k: 1 }, [2]],
  ]),
  new Set([1, 'b', [3]]),
  new Map(),
  new Set(),
  new WeakMap(),
  new WeakSet(),
);
show(
  new Map([['a', 1]]).entries(),
  new Map([['a', 1]]).keys(),
  new Set(['v']).values(),
  [1, 2][Symbol.iterator](),
  'x'[Symbol.iterator](),
  'aXb'.matchAll(/X/g),
);
show(
  new Uint8Array([1, 2]),
  new Float64Array(2),
  new ArrayBuffer(4),
  new DataView(new ArrayBuffer(2)),
  Buffer.from('hi'),
  new BigInt64Array(1),
);
show(
  Promise.resolve(5),
  Promise.reject(new RangeError('r')).catch(() => {}) && Promise.resolve({ a: [1] }),
  new Promise(() => {}),
);
show(
  globalThis === global,
  Math,
  JSON,
  Reflect,
  (function () {
    return arguments;
  })(1, 2),
  new Proxy({ a: 1 }, {}),
  new Proxy(function f() {}, {}),
);
show({
  get a() {
    return 1;
  },
  set b(v) {},
  get c() {
    return 1;
  },
  set c(v) {},
});
show({ f() {}, g: () => {}, h: class Klass {}, [Symbol.toStringTag]: 'Tagged' });
show(
  Object.assign(() => {}, { prop: 1 }),
  Object.assign([1], { extra: true }),
  Object.assign(function fn() {}, { a: { b: 1 } }),
);
show(
  new (class extends Map {
    constructor() {
      super([[1, 2]]);
    }
  })(),
  new (class Stack extends Array {})(3),
  new (class extends Error {})('m') instanceof Error,
);
show([1.0, -0, 0], [['nested', ['deep', ['deeper', ['deepest']]]]], { a: { b: { c: { d: 1 } } } });
