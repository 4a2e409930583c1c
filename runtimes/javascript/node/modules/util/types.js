// util.types: what a value is by the engine's own brand, which no script can fake.

import { binding } from '../../internal/binding.js';

const { isView } = ArrayBuffer;
const typedArrayTag = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get;
const { apply } = Reflect;

/** The engine's class name of an object or function; `undefined` for a primitive. */
export function classOf(value) {
  if ((typeof value !== 'object' || value === null) && typeof value !== 'function') return undefined;
  return binding.className(value);
}

const hasClass = (...names) => {
  const [only] = names;
  if (names.length === 1) return (value) => classOf(value) === only;
  const set = new Set(names);
  return (value) => set.has(classOf(value));
};

/** `Uint8Array` and so on, or `undefined` for anything that is no typed array. */
export function typedArrayName(value) {
  return apply(typedArrayTag, value, []);
}

const isTyped = (name) => (value) => typedArrayName(value) === name;

const isAsyncFunction = (value) => typeof value === 'function' && ['AsyncFunction', 'AsyncGeneratorFunction'].includes(classOf(value));
const isGeneratorFunction = (value) => typeof value === 'function' && ['GeneratorFunction', 'AsyncGeneratorFunction'].includes(classOf(value));

const types = {
  isExternal: () => false,
  isDate: hasClass('Date'),
  isArgumentsObject: hasClass('Arguments'),
  isBigIntObject: hasClass('BigInt'),
  isBooleanObject: hasClass('Boolean'),
  isNumberObject: hasClass('Number'),
  isStringObject: hasClass('String'),
  isSymbolObject: hasClass('Symbol'),
  isBoxedPrimitive: hasClass('BigInt', 'Boolean', 'Number', 'String', 'Symbol'),
  isNativeError: hasClass('Error'),
  isRegExp: hasClass('RegExp'),
  isAsyncFunction,
  isGeneratorFunction,
  isGeneratorObject: hasClass('Generator', 'AsyncGenerator'),
  isPromise: hasClass('Promise'),
  isMap: hasClass('Map'),
  isSet: hasClass('Set'),
  isMapIterator: hasClass('Map Iterator'),
  isSetIterator: hasClass('Set Iterator'),
  isWeakMap: hasClass('WeakMap'),
  isWeakSet: hasClass('WeakSet'),
  isArrayBuffer: hasClass('ArrayBuffer'),
  isDataView: (value) => isView(value) && typedArrayName(value) === undefined,
  isSharedArrayBuffer: hasClass('SharedArrayBuffer'),
  isProxy: (value) => classOf(value) !== undefined && binding.proxyDetails(value) !== undefined,
  isModuleNamespaceObject: hasClass('Module'),
  isAnyArrayBuffer: hasClass('ArrayBuffer', 'SharedArrayBuffer'),
  isCryptoKey: () => false,
  isKeyObject: () => false,
  isEventTarget: (value) => Boolean(value?.constructor?.[Symbol.for('nodejs.event_target')]),
  isArrayBufferView: isView,
  isTypedArray: (value) => typedArrayName(value) !== undefined,
  isUint8Array: isTyped('Uint8Array'),
  isUint8ClampedArray: isTyped('Uint8ClampedArray'),
  isUint16Array: isTyped('Uint16Array'),
  isUint32Array: isTyped('Uint32Array'),
  isInt8Array: isTyped('Int8Array'),
  isInt16Array: isTyped('Int16Array'),
  isInt32Array: isTyped('Int32Array'),
  isFloat16Array: isTyped('Float16Array'),
  isFloat32Array: isTyped('Float32Array'),
  isFloat64Array: isTyped('Float64Array'),
  isBigInt64Array: isTyped('BigInt64Array'),
  isBigUint64Array: isTyped('BigUint64Array'),
};

for (const [name, test] of Object.entries(types)) Object.defineProperty(test, 'name', { value: name });

export default types;
