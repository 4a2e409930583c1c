// Errors as Node makes them: a code, a message in Node's words, and both in the first line of the stack.

import { binding } from './binding.js';

const { create, defineProperty, getPrototypeOf } = Object;
const { apply } = Reflect;
const { slice } = String.prototype;

// The host truncates further.
const LONGEST_GRANT = 1024;

// Node's own errors print their code; they do so through a prototype between the instance and its base class.
const prototypes = new Map();

function prototypeFor(Base) {
  let prototype = prototypes.get(Base);
  if (!prototype) {
    prototype = create(Base.prototype);
    const hidden = (value) => ({ value, writable: true, enumerable: false, configurable: true });
    defineProperty(prototype, 'constructor', hidden(Base));
    defineProperty(prototype, 'toString', hidden(function toString() {
      return `${this.name} [${this.code}]: ${this.message}`;
    }));
    prototypes.set(Base, prototype);
  }
  return prototype;
}

/** An error of class `Base` with Node's `code`. */
export function nodeError(Base, code, message, properties) {
  const error = new Base(message);
  // The stack takes the name that the error has when it is first read: with the code, which the name then loses.
  defineProperty(error, 'name', { value: `${error.name} [${code}]`, writable: true, enumerable: false, configurable: true });
  void error.stack;
  delete error.name;
  error.code = code;
  if (properties) Object.assign(error, properties);
  if (getPrototypeOf(error) === Base.prototype) Object.setPrototypeOf(error, prototypeFor(Base));
  return error;
}

/** `a`, `a or b`, `a, b, or c`. */
export function formatList(items, word = 'or') {
  if (items.length < 3) return items.join(` ${word} `);
  return `${items.slice(0, -1).join(', ')}, ${word} ${items[items.length - 1]}`;
}

// util.inspect is needed inside messages, and util itself needs this file: it hands its function over.
let inspect = String;
export function useInspect(fn) {
  inspect = fn;
}

/** What was given, in the words Node ends its messages with. */
export function describe(value) {
  if (value == null) return `${value}`;
  if (typeof value === 'function') return value.name ? `function ${value.name}` : 'function ';
  if (typeof value === 'object') {
    if (value.constructor?.name) return `an instance of ${value.constructor.name}`;
    return inspect(value, { depth: -1 });
  }
  if (typeof value === 'string') {
    const text = value.length > 28 ? `${value.slice(0, 25)}...` : value;
    return text.includes("'") ? `type string (${JSON.stringify(text)})` : `type string ('${text}')`;
  }
  let text = inspect(value, { colors: false });
  if (text.length > 28) text = `${text.slice(0, 25)}...`;
  return `type ${typeof value} (${text})`;
}

const PRIMITIVES = new Set(['string', 'function', 'number', 'object', 'Function', 'Object', 'boolean', 'bigint', 'symbol']);

function expectedTypes(expected) {
  const types = [];
  const instances = [];
  const others = [];
  for (const value of expected) {
    if (PRIMITIVES.has(value)) types.push(value.toLowerCase());
    else if (/^[A-Z][a-zA-Z0-9]*$/.test(value)) instances.push(value);
    else others.push(value);
  }
  if (instances.length > 0) {
    const position = types.indexOf('object');
    if (position !== -1) {
      types.splice(position, 1);
      instances.push('Object');
    }
  }
  const parts = [];
  if (types.length > 0) parts.push(`${types.length > 1 ? 'one of type' : 'of type'} ${formatList(types)}`);
  if (instances.length > 0) parts.push(`an instance of ${formatList(instances)}`);
  if (others.length > 1) parts.push(`one of ${formatList(others)}`);
  else if (others.length === 1) parts.push(`${others[0].toLowerCase() === others[0] ? '' : 'an '}${others[0]}`);
  return parts.join(' or ');
}

function subject(name) {
  if (name.endsWith(' argument')) return `The ${name}`;
  return `The "${name}" ${name.includes('.') ? 'property' : 'argument'}`;
}

export function invalidArgType(name, expected, actual) {
  const types = expectedTypes(Array.isArray(expected) ? expected : [expected]);
  return nodeError(TypeError, 'ERR_INVALID_ARG_TYPE', `${subject(name)} must be ${types}. Received ${describe(actual)}`);
}

export function invalidArgValue(name, value, reason = 'is invalid', Base = TypeError) {
  let text = inspect(value);
  if (text.length > 128) text = `${text.slice(0, 128)}...`;
  const kind = name.includes('.') ? 'property' : 'argument';
  return nodeError(Base, 'ERR_INVALID_ARG_VALUE', `The ${kind} '${name}' ${reason}. Received ${text}`);
}

export function invalidReturnValue(expected, name, value) {
  const kind = value?.constructor?.name ? `an instance of ${value.constructor.name}` : `type ${typeof value}`;
  return nodeError(TypeError, 'ERR_INVALID_RETURN_VALUE', `Expected ${expected} to be returned from the "${name}" function but got ${kind}.`);
}

/** `1234567` as `1_234_567`. */
function grouped(digits) {
  return digits.replace(/(?<=\d)(?=(\d{3})+$)/g, '_');
}

export function outOfRange(name, range, value) {
  let received;
  if (Number.isInteger(value) && Math.abs(value) > 2 ** 32) received = grouped(String(value));
  else if (typeof value === 'bigint') received = `${value > 2n ** 32n || value < -(2n ** 32n) ? grouped(String(value)) : value}n`;
  else received = inspect(value);
  return nodeError(RangeError, 'ERR_OUT_OF_RANGE', `The value of "${name}" is out of range. It must be ${range}. Received ${received}`);
}

export function missingArgs(...names) {
  const quoted = names.map((name) => (Array.isArray(name) ? name.map((each) => `"${each}"`).join(' or ') : `"${name}"`));
  const list = formatList(quoted, 'and');
  return nodeError(TypeError, 'ERR_MISSING_ARGS', `The ${list} argument${quoted.length > 1 ? 's' : ''} must be specified`);
}

export function invalidState(message) {
  return nodeError(Error, 'ERR_INVALID_STATE', `Invalid state: ${message}`);
}

export function invalidThis(name) {
  return nodeError(TypeError, 'ERR_INVALID_THIS', `Value of "this" must be of type ${name}`);
}

export function illegalConstructor() {
  return nodeError(TypeError, 'ERR_ILLEGAL_CONSTRUCTOR', 'Illegal constructor');
}

export function unknownEncoding(encoding) {
  return nodeError(TypeError, 'ERR_UNKNOWN_ENCODING', `Unknown encoding: ${encoding}`);
}

/** What Node throws when an AbortSignal fires. */
export class AbortError extends Error {
  constructor(message = 'The operation was aborted', options) {
    super(message, options);
    this.code = 'ABORT_ERR';
    this.name = 'AbortError';
  }
}

/** A call that needs something the sandbox was not given; `grant` is the text form of what is missing. */
export function accessDenied(what, grant) {
  // For the caller of the run, who may never see the error. The host decides nothing by it.
  const known = grant === 'net:HOST' ? 'net:*' : grant === 'run:PROGRAM' ? 'run:sh' : grant;
  binding.denied(apply(slice, known, [0, LONGEST_GRANT]));
  return nodeError(Error, 'ERR_ACCESS_DENIED', `${what} is not available in the sandbox: it needs the grant ${grant}`, { permission: grant });
}

/** A call that this runtime does not offer at all. */
export function notImplemented(what, reason = '') {
  return nodeError(Error, 'ERR_METHOD_NOT_IMPLEMENTED', `${what} is not implemented in the sandbox${reason && `: ${reason}`}`);
}
