// util.types: which checks hold for which values.
import { types } from 'util';
import typesAgain, { isDate } from 'util/types';

const values = {
  date: new Date(),
  regexp: /x/,
  map: new Map(),
  set: new Set(),
  weakMap: new WeakMap(),
  error: new TypeError('x'),
  promise: Promise.resolve(),
  async: async () => {},
  generator: (function* () {})(),
  generatorFunction: function* () {},
  proxy: new Proxy({}, {}),
  buffer: Buffer.alloc(1),
  uint8: new Uint8Array(1),
  float64: new Float64Array(1),
  big64: new BigInt64Array(1),
  arrayBuffer: new ArrayBuffer(1),
  view: new DataView(new ArrayBuffer(1)),
  boxedString: Object('x'),
  boxedNumber: Object(1),
  boxedBigInt: Object(1n),
  symbol: Object(Symbol('x')),
  arguments: (function () {
    return arguments;
  })(),
  mapIterator: new Map().keys(),
  setIterator: new Set().values(),
  plain: {},
  array: [],
  null: null,
  number: 1,
  string: 'x',
  fakeDate: { getTime() {} },
  tagged: { [Symbol.toStringTag]: 'Date' },
};
const skipped = ['isExternal', 'isModuleNamespaceObject', 'isCryptoKey', 'isKeyObject', 'isEventTarget'];
const checks = Object.keys(types)
  .filter((name) => typeof types[name] === 'function' && !skipped.includes(name))
  .sort();
for (const [name, value] of Object.entries(values)) {
  console.log(name.padEnd(18), checks.filter((check) => types[check](value)).join(' ') || '-');
}
console.log(types.isModuleNamespaceObject(await import('path')), types === typesAgain, isDate === types.isDate);
console.log(checks.length);
