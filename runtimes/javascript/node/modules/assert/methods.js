// The methods of assert. Each takes the place where the stack of its error begins.

import process from '../process.js';
import { invalidArgType, invalidArgValue, invalidReturnValue, missingArgs, nodeError } from '../../internal/errors.js';
import { validateFunction } from '../../internal/validators.js';
import { isDeepEqual, isDeepStrictEqual, LOOSE, PARTIAL } from '../util/equality.js';
import { inspect } from '../util/inspect.js';
import types from '../util/types.js';
import { AssertionError } from './assertion_error.js';
import { failedExpression } from './expression.js';

export const kOptions = Symbol('options');
const NOTHING_THROWN = {};
const isError = (value) => types.isNativeError(value) || value instanceof Error;

function fail(options) {
  if (options.message instanceof Error) throw options.message;
  throw new AssertionError(options);
}

export function innerOk(fn, count, value, message) {
  if (value) return;
  let generatedMessage = false;
  if (count === 0) {
    generatedMessage = true;
    message = 'No value argument passed to `assert.ok()`';
  } else if (message == null) {
    generatedMessage = true;
    const holder = {};
    Error.captureStackTrace(holder, fn);
    const source = failedExpression(holder.stack);
    message = source ? `The expression evaluated to a falsy value:\n\n  ${source}\n` : undefined;
  } else if (isError(message)) {
    throw message;
  }
  const error = new AssertionError({ actual: value, expected: true, message, operator: '==', stackStartFn: fn });
  error.generatedMessage = generatedMessage;
  throw error;
}

const looselyEqual = (a, b) => a == b || (Number.isNaN(a) && Number.isNaN(b));

/** A method that compares two values and fails where `holds` says no. */
function comparison(name, operator, holds) {
  const method = {
    [name](actual, expected, message) {
      if (arguments.length < 2) throw missingArgs('actual', 'expected');
      if (!holds(actual, expected, this?.[kOptions])) {
        fail({ actual, expected, message, operator, stackStartFn: method, diff: this?.[kOptions]?.diff });
      }
    },
  }[name];
  return method;
}

let warned = false;

function failMethod(actual, expected, message, operator, stackStartFn) {
  let internalMessage = false;
  if (actual == null && arguments.length <= 1) {
    internalMessage = true;
    message = 'Failed';
  } else if (arguments.length === 1) {
    message = actual;
    actual = undefined;
  } else {
    if (!warned) {
      warned = true;
      process.emitWarning(
        'assert.fail() with more than one argument is deprecated. Please use assert.strictEqual() instead or only pass a message.',
        'DeprecationWarning',
        'DEP0094',
      );
    }
    if (arguments.length === 2) operator = '!=';
  }
  if (message instanceof Error) throw message;
  const error = new AssertionError({
    actual,
    expected,
    operator: operator ?? 'fail',
    stackStartFn: stackStartFn || failMethod,
    message,
    diff: this?.[kOptions]?.diff,
  });
  if (internalMessage) error.generatedMessage = true;
  throw error;
}
Object.defineProperty(failMethod, 'name', { value: 'fail' });

/** What of an error is compared, as an object that prints well. */
class Comparison {
  constructor(source, keys, actual) {
    for (const key of keys) {
      if (!(key in source)) continue;
      const matches = typeof actual?.[key] === 'string' && types.isRegExp(source[key]) && source[key].exec(actual[key]) !== null;
      this[key] = matches ? actual[key] : source[key];
    }
  }
}

function compareKey(actual, expected, key, message, keys, fn) {
  if (key in actual && isDeepStrictEqual(actual[key], expected[key])) return;
  if (message) fail({ actual, expected, message, operator: fn.name, stackStartFn: fn });
  const error = new AssertionError({
    actual: new Comparison(actual, keys),
    expected: new Comparison(expected, keys, actual),
    operator: 'deepStrictEqual',
    stackStartFn: fn,
  });
  Object.assign(error, { actual, expected, operator: fn.name });
  throw error;
}

function compareObject(actual, expected, message, fn) {
  const keys = Object.keys(expected);
  if (expected instanceof Error) keys.push('name', 'message');
  else if (keys.length === 0) throw invalidArgValue('error', expected, 'may not be an empty object');
  for (const key of keys) {
    if (typeof actual[key] === 'string' && types.isRegExp(expected[key]) && expected[key].exec(actual[key]) !== null) continue;
    compareKey(actual, expected, key, message, keys, fn);
  }
}

/** Why `actual` is not the error that `expected` describes; `undefined` if it is. */
function mismatch(actual, expected) {
  if (types.isRegExp(expected)) {
    const text = String(actual);
    if (expected.exec(text) !== null) return undefined;
    return `The input did not match the regular expression ${inspect(expected)}. Input:\n\n${inspect(text)}\n`;
  }
  if (expected.prototype !== undefined && actual instanceof expected) return undefined;
  if (Object.prototype.isPrototypeOf.call(Error, expected)) {
    let reason = `The error is expected to be an instance of "${expected.name}". Received `;
    if (!isError(actual)) return `${reason}"${inspect(actual, { depth: -1 })}"`;
    const name = actual.constructor?.name || actual.name;
    reason += expected.name === name ? 'an error with identical name but a different prototype.' : `"${name}"`;
    return actual.message ? `${reason}\n\nError message:\n\n${actual.message}` : reason;
  }
  const result = expected.call({}, actual);
  if (result === true) return undefined;
  const reason = `The ${expected.name ? `"${expected.name}" ` : ''}validation function is expected to return "true". Received ${inspect(result)}`;
  return isError(actual) ? `${reason}\n\nCaught error:\n\n${actual}` : reason;
}

function expectedException(actual, expected, message, fn) {
  if (typeof expected !== 'function' && !types.isRegExp(expected)) {
    if (typeof actual === 'object' && actual !== null) {
      compareObject(actual, expected, message, fn);
      return;
    }
    const error = new AssertionError({ actual, expected, message, operator: 'deepStrictEqual', stackStartFn: fn });
    error.operator = fn.name;
    throw error;
  }
  const reason = mismatch(actual, expected);
  if (reason === undefined) return;
  const error = new AssertionError({ actual, expected, message: message || reason, operator: fn.name, stackStartFn: fn });
  error.generatedMessage = !message;
  throw error;
}

function getActual(fn) {
  validateFunction(fn, 'fn');
  try {
    fn();
  } catch (error) {
    return error;
  }
  return NOTHING_THROWN;
}

const isPromise = (value) =>
  types.isPromise(value) || (value !== null && typeof value === 'object' && typeof value.then === 'function' && typeof value.catch === 'function');

async function waitForActual(promiseFn) {
  let promise = promiseFn;
  if (typeof promiseFn === 'function') {
    promise = promiseFn();
    if (!isPromise(promise)) throw invalidReturnValue('instance of Promise', 'promiseFn', promise);
  } else if (!isPromise(promiseFn)) {
    throw invalidArgType('promiseFn', ['Function', 'Promise'], promiseFn);
  }
  try {
    await promise;
  } catch (error) {
    return error;
  }
  return NOTHING_THROWN;
}

const ambiguous = (reason) => nodeError(TypeError, 'ERR_AMBIGUOUS_ARGUMENT', `The "error/message" argument is ambiguous. ${reason}`);

function expectsError(fn, kind, actual, error, ...rest) {
  let [message] = rest;
  const types_ = ['Object', 'Error', 'Function', 'RegExp'];
  if (typeof error === 'string') {
    if (rest.length > 0) throw invalidArgType('error', types_, error);
    if (typeof actual === 'object' && actual !== null) {
      if (actual.message === error) throw ambiguous(`The error message "${actual.message}" is identical to the message.`);
    } else if (actual === error) {
      throw ambiguous(`The error "${actual}" is identical to the message.`);
    }
    [error, message] = [undefined, error];
  } else if (error != null && typeof error !== 'object' && typeof error !== 'function') {
    throw invalidArgType('error', types_, error);
  }
  if (actual === NOTHING_THROWN) {
    const details = `${error?.name ? ` (${error.name})` : ''}${message ? `: ${message}` : '.'}`;
    fail({ actual: undefined, expected: error, operator: fn.name, message: `Missing expected ${kind}${details}`, stackStartFn: fn });
  }
  if (error) expectedException(actual, error, message, fn);
}

function hasMatchingError(actual, expected) {
  if (types.isRegExp(expected)) return expected.exec(String(actual)) !== null;
  if (typeof expected !== 'function') throw invalidArgType('expected', ['Function', 'RegExp'], expected);
  if (expected.prototype !== undefined && actual instanceof expected) return true;
  if (Object.prototype.isPrototypeOf.call(Error, expected)) return false;
  return expected.call({}, actual) === true;
}

function expectsNoError(fn, kind, actual, error, message) {
  if (actual === NOTHING_THROWN) return;
  const [expected, text] = typeof error === 'string' ? [undefined, error] : [error, message];
  if (expected && !hasMatchingError(actual, expected)) throw actual;
  const unwanted = `Got unwanted ${kind}${text ? `: ${text}` : '.'}\nActual message: "${actual?.message}"`;
  fail({ actual, expected, operator: fn.name, message: unwanted, stackStartFn: fn });
}

function ifError(err) {
  if (err === null || err === undefined) return;
  let message = 'ifError got unwanted exception: ';
  if (typeof err === 'object' && typeof err.message === 'string')
    message += err.message.length === 0 && err.constructor ? err.constructor.name : err.message;
  else message += inspect(err);
  const error = new AssertionError({ actual: err, expected: null, operator: 'ifError', message, stackStartFn: ifError });
  const at = typeof err.stack === 'string' ? err.stack.indexOf('\n    at') : -1;
  if (at !== -1) {
    const original = err.stack.slice(at + 1).split('\n');
    const own = error.stack.split('\n');
    const shared = own.findIndex((line) => original.includes(line));
    error.stack = [...(shared === -1 ? own : own.slice(0, shared)), ...original].join('\n');
  }
  throw error;
}

function matcher(name, wanted) {
  const method = {
    [name](string, regexp, message) {
      if (!types.isRegExp(regexp)) throw invalidArgType('regexp', 'RegExp', regexp);
      if (typeof string === 'string' && (regexp.exec(string) !== null) === wanted) return;
      if (message instanceof Error) throw message;
      const generatedMessage = !message;
      if (!message) {
        message =
          typeof string !== 'string'
            ? `The "string" argument must be of type string. Received type ${typeof string} (${inspect(string)})`
            : `The input ${wanted ? 'did not match' : 'was expected to not match'} the regular expression ${inspect(regexp)}. Input:\n\n${inspect(string)}\n`;
      }
      const error = new AssertionError({ actual: string, expected: regexp, message, operator: name, stackStartFn: method });
      error.generatedMessage = generatedMessage;
      throw error;
    },
  }[name];
  return method;
}

export const methods = {
  fail: failMethod,
  equal: comparison('equal', '==', looselyEqual),
  notEqual: comparison('notEqual', '!=', (a, b) => !looselyEqual(a, b)),
  deepEqual: comparison('deepEqual', 'deepEqual', (a, b) => isDeepEqual(a, b, LOOSE)),
  notDeepEqual: comparison('notDeepEqual', 'notDeepEqual', (a, b) => !isDeepEqual(a, b, LOOSE)),
  deepStrictEqual: comparison('deepStrictEqual', 'deepStrictEqual', (a, b, options) => isDeepStrictEqual(a, b, options?.skipPrototype)),
  notDeepStrictEqual: comparison('notDeepStrictEqual', 'notDeepStrictEqual', (a, b, options) => !isDeepStrictEqual(a, b, options?.skipPrototype)),
  strictEqual: comparison('strictEqual', 'strictEqual', Object.is),
  notStrictEqual: comparison('notStrictEqual', 'notStrictEqual', (a, b) => !Object.is(a, b)),
  partialDeepStrictEqual: comparison('partialDeepStrictEqual', 'partialDeepStrictEqual', (a, b) => isDeepEqual(a, b, PARTIAL)),
  match: matcher('match', true),
  doesNotMatch: matcher('doesNotMatch', false),
  throws: function throws(fn, ...args) {
    expectsError(throws, 'exception', getActual(fn), ...args);
  },
  rejects: async function rejects(promiseFn, ...args) {
    expectsError(rejects, 'rejection', await waitForActual(promiseFn), ...args);
  },
  doesNotThrow: function doesNotThrow(fn, ...args) {
    expectsNoError(doesNotThrow, 'exception', getActual(fn), ...args);
  },
  doesNotReject: async function doesNotReject(promiseFn, ...args) {
    expectsNoError(doesNotReject, 'rejection', await waitForActual(promiseFn), ...args);
  },
  ifError,
};
