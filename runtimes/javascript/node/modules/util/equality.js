// Deep equality as `assert` and `util.isDeepStrictEqual` mean it.

import { classOf, typedArrayName } from './types.js';

export const LOOSE = 0;
export const STRICT = 1;
export const PARTIAL = 2;
const STRICT_WITHOUT_PROTOTYPES = 3;

const { getPrototypeOf, hasOwn, is, keys: keysOf } = Object;
const tagText = Object.prototype.toString;
const isEnumerable = Object.prototype.propertyIsEnumerable;

const isObject = (value) => typeof value === 'object' && value !== null;
const isError = (value) => classOf(value) === 'Error' || value instanceof Error;

export function isDeepEqual(a, b, mode) {
  return equal(a, b, { mode, left: new Map() });
}

export function isDeepStrictEqual(a, b, skipPrototype) {
  return isDeepEqual(a, b, skipPrototype ? STRICT_WITHOUT_PROTOTYPES : STRICT);
}

function equal(a, b, state) {
  const loose = state.mode === LOOSE;
  if (a === b) return a !== 0 || loose || is(a, b);
  if (loose) {
    if (!isObject(a) || !isObject(b)) {
      return !isObject(a) && !isObject(b) && typeof a !== 'function' && typeof b !== 'function' && (a == b || (a !== a && b !== b));
    }
  } else if (!isObject(a) || !isObject(b)) {
    return typeof a === 'number' && a !== a && b !== b;
  }
  return equalObjects(a, b, state);
}

function equalObjects(a, b, state) {
  const { mode } = state;
  const strict = mode === STRICT || mode === PARTIAL;
  if (strict && (mode === STRICT ? getPrototypeOf(a) !== getPrototypeOf(b) : false)) return false;
  if (mode !== STRICT_WITHOUT_PROTOTYPES && mode !== LOOSE && tagText.call(a) !== tagText.call(b)) return false;
  const kind = classOf(a);
  const other = classOf(b);
  const typed = typedArrayName(a);
  if (kind !== other && !(typed && typedArrayName(b) === typed)) {
    // An error may be made by a class of its own and still carry the brand of a plain object.
    if (!(isError(a) && isError(b))) return false;
  }
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || (mode === PARTIAL ? a.length < b.length : a.length !== b.length)) return false;
    return equalContents(a, b, state, indexFree(a, mode), indexFree(b, mode), mode === PARTIAL ? partialArray : equalArray);
  }
  if (typed) return equalTypedArrays(a, b, typed, state);
  switch (kind) {
    case 'Date':
      if (Date.prototype.getTime.call(a) !== Date.prototype.getTime.call(b) && !(Number.isNaN(+a) && Number.isNaN(+b))) return false;
      break;
    case 'RegExp':
      if (a.source !== b.source || a.flags !== b.flags || a.lastIndex !== b.lastIndex) return false;
      break;
    case 'Error':
      if (!equalErrors(a, b, state)) return false;
      break;
    case 'ArrayBuffer':
    case 'SharedArrayBuffer':
      if (!equalBytes(new Uint8Array(a), new Uint8Array(b), mode)) return false;
      break;
    case 'DataView':
      if (!equalBytes(new Uint8Array(a.buffer, a.byteOffset, a.byteLength), new Uint8Array(b.buffer, b.byteOffset, b.byteLength), mode)) return false;
      break;
    case 'Number':
    case 'String':
    case 'Boolean':
    case 'BigInt':
    case 'Symbol':
      if (!is(unboxed(a), unboxed(b))) return false;
      break;
    case 'Set':
      if (mode === PARTIAL ? a.size < b.size : a.size !== b.size) return false;
      return equalContents(a, b, state, ownKeys(a, mode), ownKeys(b, mode), equalSets);
    case 'Map':
      if (mode === PARTIAL ? a.size < b.size : a.size !== b.size) return false;
      return equalContents(a, b, state, ownKeys(a, mode), ownKeys(b, mode), equalMaps);
    case 'WeakMap':
    case 'WeakSet':
    case 'Promise':
    case 'WeakRef':
      // What they hold cannot be seen, so only the same one is equal.
      return false;
    default:
  }
  if (kind !== 'Error' && isError(a) && isError(b) && !equalErrors(a, b, state)) return false;
  return equalContents(a, b, state, ownKeys(a, mode), ownKeys(b, mode));
}

const unboxed = (value) => (classOf(value) === 'Symbol' ? Symbol.prototype.valueOf.call(value) : value.valueOf());

function equalErrors(a, b, state) {
  // Name, message, cause and errors may be hidden properties; they count all the same.
  if (a.message !== b.message || a.name !== b.name) return false;
  for (const key of ['cause', 'errors']) {
    if (hasOwn(a, key) !== hasOwn(b, key) || !equal(a[key], b[key], state)) return false;
  }
  return true;
}

function equalTypedArrays(a, b, name, state) {
  const { mode } = state;
  if (mode !== PARTIAL && a.length !== b.length) return false;
  if (mode === LOOSE && name.startsWith('Float')) {
    for (let index = 0; index < a.length; index++) if (a[index] !== b[index] && !(a[index] !== a[index] && b[index] !== b[index])) return false;
  } else if (mode === PARTIAL) {
    if (a.length < b.length || !isSubsequence(a, b)) return false;
  } else if (!equalBytes(bytesOf(a), bytesOf(b))) {
    return false;
  }
  return equalContents(a, b, state, indexFree(a, mode), indexFree(b, mode));
}

const bytesOf = (view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);

function equalBytes(a, b, mode) {
  if (mode === PARTIAL) return isSubsequence(a, b);
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false;
  return true;
}

function isSubsequence(a, b) {
  let at = 0;
  for (let index = 0; index < b.length; index++) {
    while (at < a.length && !is(a[at], b[index])) at++;
    if (at++ >= a.length) return false;
  }
  return true;
}

function ownKeys(value, mode) {
  const keys = keysOf(value);
  if (mode !== LOOSE) {
    for (const symbol of Object.getOwnPropertySymbols(value)) if (isEnumerable.call(value, symbol)) keys.push(symbol);
  }
  return keys;
}

function indexFree(value, mode) {
  return ownKeys(value, mode).filter((key) => typeof key === 'symbol' || !/^(0|[1-9]\d*)$/.test(key));
}

/** Keys, then contents; a pair that is being compared already counts as equal. */
function equalContents(a, b, state, keysA, keysB, compare) {
  if (state.mode !== PARTIAL && keysA.length !== keysB.length) return false;
  for (const key of keysB) if (!isEnumerable.call(a, key)) return false;
  const partner = state.left.get(a);
  if (partner !== undefined) {
    if (partner.has(b)) return true;
    partner.add(b);
  } else {
    state.left.set(a, new Set([b]));
  }
  let result = true;
  for (const key of keysB) {
    if (!equal(a[key], b[key], state)) {
      result = false;
      break;
    }
  }
  if (result && compare) result = compare(a, b, state);
  state.left.get(a).delete(b);
  if (state.left.get(a).size === 0) state.left.delete(a);
  return result;
}

function equalArray(a, b, state) {
  const loose = state.mode === LOOSE;
  for (let index = 0; index < a.length; index++) {
    if (hasOwn(a, index) !== hasOwn(b, index)) return false;
    if (loose && a[index] == null && b[index] == null) continue;
    if (!equal(a[index], b[index], state)) return false;
  }
  return true;
}

/** Whether the elements of `b` occur in `a` in the same order. */
function partialArray(a, b, state) {
  let at = 0;
  for (let index = 0; index < b.length; index++) {
    while (at < a.length && !(hasOwn(a, at) === hasOwn(b, index) && equal(a[at], b[index], state))) at++;
    if (at++ >= a.length) return false;
  }
  return true;
}

function equalSets(a, b, state) {
  const open = [];
  for (const value of b) {
    if (a.has(value)) continue;
    if (!isObject(value) && state.mode !== LOOSE) return false;
    open.push(value);
  }
  if (open.length === 0) return true;
  const candidates = [...a].filter((value) => !b.has(value) && (isObject(value) || state.mode === LOOSE));
  return matchAll(open, candidates, (value, candidate) => equal(candidate, value, state));
}

function equalMaps(a, b, state) {
  const open = [];
  for (const [key, value] of b) {
    if (a.has(key)) {
      if (!equal(a.get(key), value, state)) return false;
    } else if (!isObject(key) && state.mode !== LOOSE) {
      return false;
    } else {
      open.push([key, value]);
    }
  }
  if (open.length === 0) return true;
  const candidates = [...a].filter(([key]) => !b.has(key) && (isObject(key) || state.mode === LOOSE));
  return matchAll(open, candidates, (pair, candidate) => equal(candidate[0], pair[0], state) && equal(candidate[1], pair[1], state));
}

/** Each open item finds a candidate of its own. */
function matchAll(open, candidates, matches) {
  for (const item of open) {
    const found = candidates.findIndex((candidate) => matches(item, candidate));
    if (found === -1) return false;
    candidates.splice(found, 1);
  }
  return true;
}
