// Checks of arguments that throw what Node throws.

import { formatList, invalidArgType, invalidArgValue, nodeError, outOfRange } from './errors.js';

export function validateString(value, name) {
  if (typeof value !== 'string') throw invalidArgType(name, 'string', value);
}

export function validateBoolean(value, name) {
  if (typeof value !== 'boolean') throw invalidArgType(name, 'boolean', value);
}

export function validateFunction(value, name) {
  if (typeof value !== 'function') throw invalidArgType(name, 'Function', value);
}

export function validateNumber(value, name, min, max) {
  if (typeof value !== 'number') throw invalidArgType(name, 'number', value);
  if ((min != null && value < min) || (max != null && value > max) || ((min != null || max != null) && Number.isNaN(value))) {
    const low = min != null ? `>= ${min}` : '';
    const high = max != null ? `<= ${max}` : '';
    throw outOfRange(name, [low, high].filter(Boolean).join(' && '), value);
  }
}

export function validateInteger(value, name, min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER) {
  if (typeof value !== 'number') throw invalidArgType(name, 'number', value);
  if (!Number.isInteger(value)) throw outOfRange(name, 'an integer', value);
  if (value < min || value > max) throw outOfRange(name, `>= ${min} && <= ${max}`, value);
}

export function validateInt32(value, name, min = -2147483648, max = 2147483647) {
  validateInteger(value, name, min, max);
}

export function validateUint32(value, name, positive = false) {
  if (typeof value !== 'number') throw invalidArgType(name, 'number', value);
  if (!Number.isInteger(value)) throw outOfRange(name, 'an integer', value);
  const min = positive ? 1 : 0;
  if (value < min || value > 4294967295) throw outOfRange(name, `>= ${min} && <= 4294967295`, value);
}

export function validateObject(value, name, { allowArray = false, allowFunction = false, nullable = false } = {}) {
  if (nullable && value === null) return;
  if (!allowArray && Array.isArray(value)) throw invalidArgType(name, 'Object', value);
  if (value === null || (typeof value !== 'object' && !(allowFunction && typeof value === 'function'))) {
    throw invalidArgType(name, 'Object', value);
  }
}

export function validateArray(value, name, minLength = 0) {
  if (!Array.isArray(value)) throw invalidArgType(name, 'Array', value);
  if (value.length < minLength) throw invalidArgValue(name, value, `must be longer than ${minLength}`);
}

export function validateStringArray(value, name) {
  validateArray(value, name);
  for (let index = 0; index < value.length; index++) validateString(value[index], `${name}[${index}]`);
}

export function validateBooleanArray(value, name) {
  validateArray(value, name);
  for (let index = 0; index < value.length; index++) validateBoolean(value[index], `${name}[${index}]`);
}

export function validateOneOf(value, name, allowed) {
  if (!allowed.includes(value)) {
    const list = allowed.map((each) => (typeof each === 'string' ? `'${each}'` : String(each))).join(', ');
    throw invalidArgValue(name, value, `must be one of: ${list}`);
  }
}

export function validateUnion(value, name, allowed) {
  if (!allowed.includes(value)) throw invalidArgType(name, `('${allowed.join('|')}')`, value);
}

export function validateBuffer(value, name = 'buffer') {
  if (!ArrayBuffer.isView(value)) throw invalidArgType(name, ['Buffer', 'TypedArray', 'DataView'], value);
}

export function validateAbortSignal(signal, name) {
  if (signal !== undefined && (signal === null || typeof signal !== 'object' || !('aborted' in signal))) {
    throw invalidArgType(name, 'AbortSignal', signal);
  }
}

export function validatePort(port, name = 'Port', allowZero = true) {
  const text = String(port).trim();
  if ((typeof port !== 'number' && typeof port !== 'string') || text === '' || !(+port >>> 0 === +port) || +port > 0xffff || (port === 0 && !allowZero)) {
    throw nodeError(RangeError, 'ERR_SOCKET_BAD_PORT', `${name} should be ${allowZero ? '>=' : '>'} 0 and < 65536. Received ${typeof port} (${port}).`);
  }
}

export { formatList };
