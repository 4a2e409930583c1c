// structuredClone: what survives, what does not.
const original = {
  date: new Date(0),
  map: new Map([[{ k: 1 }, new Set([1])]]),
  re: /x/gi,
  list: [1, , 3],
  nested: { u: undefined, n: null, big: 10n, nan: NaN, zero: -0 },
  bytes: new Uint8Array([1, 2]),
  buffer: new ArrayBuffer(2),
  error: new RangeError('r', { cause: 'c' }),
  boxed: Object('s'),
};
original.self = original;
const clone = structuredClone(original);
console.log(
  clone !== original,
  clone.self === clone,
  clone.date.getTime(),
  clone.map,
  clone.re,
  clone.list,
  clone.nested,
  clone.bytes,
  clone.buffer.byteLength,
  clone.boxed,
);
console.log(
  clone.error instanceof RangeError,
  clone.error.name,
  clone.error.message,
  clone.error.cause,
  clone.map instanceof Map,
);
class Point {
  constructor() {
    this.x = 1;
  }
  get y() {
    return 2;
  }
}
console.log(
  structuredClone(new Point()),
  structuredClone({
    get g() {
      return 5;
    },
  }),
  structuredClone(Object.create({ inherited: 1 }, { own: { value: 1, enumerable: true }, hidden: { value: 2 } })),
);
console.log(structuredClone('text'), structuredClone(null), structuredClone(5n), structuredClone(undefined));
for (const bad of [() => {}, Symbol('s'), { f() {} }, new WeakMap(), Promise.resolve()]) {
  try {
    structuredClone(bad);
  } catch (error) {
    console.log(
      error.name,
      error.code,
      error instanceof DOMException,
      error.message.startsWith('#') ? '' : error.message,
    );
  }
}
const moved = new ArrayBuffer(8);
const there = structuredClone(moved, { transfer: [moved] });
console.log(there.byteLength, moved.byteLength, moved.detached);
const shared = [1];
const pair = structuredClone([shared, shared]);
console.log(pair[0] === pair[1], structuredClone([Buffer.from('b')])[0].constructor.name);
