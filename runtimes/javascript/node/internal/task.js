// What runs between two callbacks: `process.nextTick`, then promises, then rejections nobody handled.

import { binding } from './binding.js';
import { validateFunction } from './validators.js';
import { Queue } from './queue.js';
import { fail } from './fatal.js';
import { processRejections } from './rejections.js';

const { apply } = Reflect;
const ticks = new Queue();
const operations = new Queue();
let exiting = false;

// Numbers the turns of the event loop, so that an operation knows when it was asked for.
let turn = 1;

// What `AsyncLocalStorage` carries along: an opaque value, kept for each callback from where it was asked for. The
// engine does the same for promises.
export const getContext = () => binding.getContext();
export const setContext = (value) => { binding.setContext(value); };

/** Calls `f` in the context `own`; what it throws ends the run, unless the script listens. */
export function run(f, self, args, own) {
  binding.setContext(own);
  binding.forgetThrow();
  try {
    apply(f, self, args);
  } catch (error) {
    fail(error, 'uncaughtException');
  }
  binding.setContext(undefined);
}

export function nextTick(callback, ...args) {
  validateFunction(callback, 'callback');
  if (exiting) return;
  ticks.push({ callback, args, context: binding.getContext() });
}

export function queueMicrotask(callback) {
  validateFunction(callback, 'callback');
  const own = binding.getContext();
  binding.enqueueMicrotask(() => run(callback, undefined, [], own));
}

function runJobs() {
  for (;;) {
    try {
      binding.runJobs();
      return;
    } catch (error) {
      fail(error, 'uncaughtException');
    }
  }
}

/** Runs ticks and promise jobs until there are none. */
export function drain() {
  do {
    do {
      while (!ticks.isEmpty) {
        const tick = ticks.shift();
        run(tick.callback, undefined, tick.args, tick.context);
      }
      runJobs();
    } while (!ticks.isEmpty);
  } while (processRejections());
}

/** The same, for code that runs inside of a promise job, as the main ES module does: promises come first. */
export function drainFromJob() {
  runJobs();
  drain();
}

export function stopTicks() {
  exiting = true;
}

/** Runs `operation` when the event loop polls, then calls `callback` with an error or null and its value. */
export function defer(operation, callback) {
  operations.push({ operation, callback, turn, context: binding.getContext() });
}

/** A promise of what `operation` gives when the event loop polls. */
export function promised(operation) {
  return new Promise((resolve, reject) => {
    defer(operation, (error, value) => {
      if (error) reject(error);
      else resolve(value);
    });
  });
}

export const hasOperations = () => !operations.isEmpty;

function perform({ operation, callback, context: own }) {
  let error = null;
  let value;
  try {
    value = operation();
  } catch (thrown) {
    error = thrown;
  }
  if (error) run(callback, undefined, [error], own);
  else run(callback, undefined, value === undefined ? [null] : [null, value], own);
  drain();
}

/** Performs what was asked for; with callbacks waiting in the check phase, only what was asked for in earlier turns. */
export function performOperations(othersWait) {
  const due = operations.take();
  while (!due.isEmpty) {
    if (othersWait && due.first.value.turn === turn) {
      // Back to the front, before what was added meanwhile.
      due.last.next = operations.first;
      if (!operations.first) operations.last = due.last;
      operations.first = due.first;
      break;
    }
    perform(due.shift());
  }
  turn++;
}
