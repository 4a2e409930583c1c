// The end of a run by an error: who hears of it, and what is printed.

import { binding } from './binding.js';
import { printUncaught } from './uncaught.js';
import { nodeError } from './errors.js';

const { apply } = Reflect;
let process;
let leave;
// Set by `process.setUncaughtExceptionCaptureCallback`.
let capture = null;

/** Told once by process.js: the process, and how a run ends. */
export function useProcess(object, exit) {
  process = object;
  leave = exit;
}

export function setCapture(f) {
  capture = f;
}

export const hasCapture = () => capture !== null;

export const listens = (event) => process.listenerCount(event) > 0;

export function emitProcess(event, ...args) {
  return process.emit(event, ...args);
}

/** An exception that nobody caught: the script's listeners get it, or it ends the run. */
export function fail(error, origin) {
  // Now: whatever runs next may throw and catch.
  const place = origin === 'uncaughtException' ? binding.thrownAt(error) : undefined;
  try {
    if (listens('uncaughtExceptionMonitor')) emitProcess('uncaughtExceptionMonitor', error, origin);
    if (capture) {
      apply(capture, undefined, [error]);
      return;
    }
    if (listens('uncaughtException')) {
      emitProcess('uncaughtException', error, origin);
      return;
    }
  } catch (second) {
    printUncaught(second, binding.thrownAt(second));
    leave(7);
  }
  // Node tells the exit listeners before it prints.
  let code = 1;
  try {
    code = exitListeners();
  } catch (second) {
    printUncaught(second, binding.thrownAt(second));
    binding.exit(7);
  }
  printUncaught(error, place);
  binding.exit(code);
}

function exitListeners() {
  if (!process._exiting) {
    process._exiting = true;
    process.exitCode = 1;
    emitProcess('exit', 1);
  }
  const code = process.exitCode;
  return typeof code === 'number' ? code : 1;
}

/** A rejection that nobody handled. */
export function reportUnhandled(reason) {
  const isError = reason instanceof Error || binding.className(reason) === 'Error';
  fail(isError ? reason : unhandled(reason), 'unhandledRejection');
}

function unhandled(reason) {
  const isObject = reason !== null && typeof reason === 'object';
  const text = isObject ? `#<${binding.className(reason) === 'Proxy' ? 'Object' : reason.constructor?.name || 'Object'}>` : String(reason);
  const error = nodeError(Error, 'ERR_UNHANDLED_REJECTION',
    'This error originated either by throwing inside of an async function without a catch block, or by rejecting a promise which was not '
    + `handled with .catch(). The promise rejected with the reason "${text}".`);
  error.name = 'UnhandledPromiseRejection';
  error.stack = `UnhandledPromiseRejection: ${error.message}`;
  return error;
}
