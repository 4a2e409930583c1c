// util.isDeepStrictEqual on pairs that are and are not equal.
const { isDeepStrictEqual } = require('util');

const pairs = {
  numbers: [1, 1],
  'number and string': [1, '1'],
  zeros: [0, -0],
  nan: [NaN, NaN],
  arrays: [
    [1, [2]],
    [1, [2]],
  ],
  order: [
    [1, 2],
    [2, 1],
  ],
  holes: [
    [, 1],
    [undefined, 1],
  ],
  objects: [
    { a: 1, b: { c: 2 } },
    { b: { c: 2 }, a: 1 },
  ],
  'undefined property': [{ a: undefined }, {}],
  dates: [new Date(0), new Date(0)],
  'different dates': [new Date(0), new Date(1)],
  regexps: [/a/g, /a/g],
  flags: [/a/g, /a/i],
  maps: [new Map([[1, { a: 1 }]]), new Map([[1, { a: 1 }]])],
  'map order': [
    new Map([
      [1, 1],
      [2, 2],
    ]),
    new Map([
      [2, 2],
      [1, 1],
    ]),
  ],
  sets: [new Set([1, 2]), new Set([2, 1])],
  'sets of objects': [new Set([{ a: 1 }]), new Set([{ a: 1 }])],
  'unequal sets': [new Set([1]), new Set([2])],
  errors: [new Error('x'), new Error('x')],
  'other errors': [new Error('x'), new TypeError('x')],
  prototypes: [Object.create(null), {}],
  classes: [new (class A {})(), new (class B {})()],
  buffers: [Buffer.from('a'), Buffer.from('a')],
  'buffer and array': [Buffer.from([1]), new Uint8Array([1])],
  typed: [new Float32Array([1]), new Float32Array([1])],
  symbols: [{ [Symbol.for('s')]: 1 }, { [Symbol.for('s')]: 1 }],
  boxed: [new String('a'), new String('a')],
  'boxed and not': [Object(1), 1],
  functions: [() => {}, () => {}],
  bigints: [1n, 1n],
  'bigint and number': [1n, 1],
  nulls: [null, undefined],
  'array and object': [[], {}],
  arguments: [
    (function () {
      return arguments;
    })(1),
    [1],
  ],
  promises: [Promise.resolve(1), Promise.resolve(1)],
  'extra key': [Object.assign([1], { x: 1 }), [1]],
};
const left = { name: 'loop' },
  right = { name: 'loop' };
left.self = left;
right.self = right;
pairs.cycles = [left, right];
for (const [name, [a, b]] of Object.entries(pairs)) console.log(name.padEnd(20), isDeepStrictEqual(a, b));
