// Newer parts of the language that scripts use.
console.log(
  Object.groupBy([1, 2, 3], (n) => (n % 2 ? 'odd' : 'even')),
  Map.groupBy(['a', 'bb', 'c'], (s) => s.length),
  Object.fromEntries([['a', 1]]),
  Object.hasOwn({ x: 1 }, 'x'),
);
console.log(
  [1, 2, 3].at(-1),
  [1, [2, [3]]].flat(Infinity),
  [5, 1].findLast((n) => n > 0),
  [1, 2, 3].findLastIndex((n) => n < 3),
  Array.from({ length: 3 }, (_, i) => i),
  await Array.fromAsync(
    (async function* () {
      yield 1;
      yield 2;
    })(),
  ),
  [1, 2, 3].copyWithin(0, 1),
);
console.log(
  new Set([1, 2, 3]).union(new Set([4])),
  new Set([1, 2]).intersection(new Set([2])),
  new Set([1, 2]).difference(new Set([2])),
  new Set([1]).isSubsetOf(new Set([1, 2])),
  new Set([1, 2]).symmetricDifference(new Set([2, 3])),
);
console.log(
  [1, 2, 3]
    .values()
    .map((n) => n * 2)
    .filter((n) => n > 2)
    .toArray(),
  Iterator.from([1, 2, 3]).take(2).toArray(),
  [...[1, 2, 3].values().drop(1)],
  [1, 2]
    .values()
    .flatMap((n) => [n, n])
    .toArray(),
  [1, 2, 3].values().reduce((a, b) => a + b),
);
class Account {
  #balance = 0;
  static #count = 0;
  static {
    Account.#count = 10;
  }
  get balance() {
    return this.#balance;
  }
  #log() {
    return `#${Account.#count}`;
  }
  deposit(n) {
    this.#balance += n;
    return this.#log();
  }
  static has(o) {
    return #balance in o;
  }
  static async *stream() {
    yield 1;
  }
}
const account = new Account();
console.log(account.deposit(5), account.balance, Account.has(account), Account.has({}), account, Object.keys(account));
const { a = 1, b: { c: [, second] = [] } = {}, ...rest } = { b: { c: [1, 2] }, x: 9, y: 8 };
console.log(
  a,
  second,
  rest,
  null ?? 'd',
  undefined?.x?.y.z,
  account?.missing?.(),
  ((x, y = x, ...z) => [x, y, z])(1),
  [...'ab', ...[1]],
  { ...{ p: 1 }, ...null },
);
let n = null;
n ??= 5;
n ||= 6;
n &&= 7;
label: for (const i of [1, 2]) {
  for (const j of [1, 2]) {
    if (j === 2) continue label;
    if (i === 2) break label;
    console.log(i, j);
  }
}
console.log(
  n,
  2 ** (3 ** 2),
  typeof globalThis,
  void 0,
  (1, 2),
  [1, 2, 3].includes(NaN),
  [NaN].includes(NaN),
  `${[1, [2, 3]]}`,
  String({}),
  [] + {},
  [1] == 1,
);
function* fib() {
  let [x, y] = [0, 1];
  for (;;) {
    const reset = yield x;
    [x, y] = reset ? [0, 1] : [y, x + y];
  }
}
const seq = fib();
console.log(
  Array.from({ length: 8 }, () => seq.next().value),
  seq.next(true).value,
  seq.return(9),
  seq.next(),
);
const proxy = new Proxy(
  {},
  {
    get: (t, k) => (k in t ? t[k] : `no ${String(k)}`),
    has: () => true,
    ownKeys: () => ['z'],
    getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
    deleteProperty: () => true,
  },
);
console.log(
  proxy.x,
  'q' in proxy,
  Object.keys(proxy),
  delete proxy.y,
  Reflect.ownKeys({ b: 1, 2: 1, a: 1, 1: 1, [Symbol('s')]: 1 }),
  Reflect.construct(Date, [0]).getTime(),
);
const ref = new WeakRef(account);
console.log(
  ref.deref() === account,
  new WeakMap([[account, 1]]).get(account),
  Symbol('x').description,
  Symbol.for('k') === Symbol.for('k'),
  Object.getOwnPropertySymbols({ [Symbol.iterator]: 1 }).length,
);
console.log(
  await Promise.any([Promise.reject(1), 2]),
  await Promise.try(() => 5),
  (await Promise.allSettled([Promise.reject(new Error('x'))]))[0].reason.message,
  await Promise.any([Promise.reject(1)]).catch((e) => [e.name, e.errors]),
);
{
  using resource = {
    [Symbol.dispose]() {
      console.log('disposed');
    },
  };
  console.log('in the block', typeof resource);
}
const frozen = Object.freeze({ deep: { x: 1 } });
try {
  frozen.y = 1;
} catch (error) {
  console.log(error.name);
}
frozen.deep.x = 2;
console.log(
  frozen,
  Object.isFrozen(frozen),
  Object.entries(
    Object.getOwnPropertyDescriptors({
      get g() {
        return 1;
      },
    }),
  )[0][1].set,
);
console.log(
  JSON.stringify({
    u: undefined,
    f() {},
    s: Symbol('s'),
    n: NaN,
    d: new Date(0),
    m: new Map([[1, 2]]),
    nested: [undefined, () => {}],
    toJSON: undefined,
    big: '\u2028\ud800',
  }),
  JSON.stringify({ a: [1, { b: 2 }] }, null, '--'),
  JSON.stringify({ a: 1, b: 2 }, ['b']),
  JSON.parse('[1,{"a":2}]', (k, v) => (k === 'a' ? v * 2 : v)),
  JSON.stringify('\u007f"\\'),
  JSON.stringify({ toJSON: (k) => `key:${k}` }),
  JSON.stringify(Object.create({ x: 1 })),
);
try {
  JSON.stringify(10n);
} catch (error) {
  console.log(error.name);
}
try {
  const o = {};
  o.o = o;
  JSON.stringify(o);
} catch (error) {
  console.log(error.name);
}
eval('var leaked = 1');
console.log(
  typeof leaked,
  new Function('a', 'b', 'return a + b')(1, 2),
  (0, eval)('this') === globalThis,
  structuredClone(new Map([[1, { a: 2 }]])),
  Array.isArray(new Proxy([], {})),
  Uint8Array.from([1, 2]).toString(),
  new Uint8Array([1, 2, 3]).subarray(1).at(-1),
);
