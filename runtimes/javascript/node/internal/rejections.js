// Promises that were rejected and nobody listened.

import { Queue } from './queue.js';
import { emitProcess, fail, listens, reportUnhandled } from './fatal.js';

const unhandled = new Queue();
// The entry of each promise in that queue.
const entries = new WeakMap();
const { get, set, delete: forget } = WeakMap.prototype;
// Promises whose rejection was announced, so that a late handler can be announced too.
const announced = new WeakSet();
const { has, add, delete: remove } = WeakSet.prototype;
const { apply } = Reflect;
let late = new Queue();

/** Called by the engine: a promise was rejected without a handler, or got one after that. */
export function rejection(promise, reason, handled) {
  if (!handled) {
    const entry = { promise, reason, handled: false };
    apply(set, entries, [promise, entry]);
    unhandled.push(entry);
    return;
  }
  const entry = apply(get, entries, [promise]);
  if (entry !== undefined) {
    entry.handled = true;
    return;
  }
  if (apply(has, announced, [promise])) {
    apply(remove, announced, [promise]);
    late.push(promise);
  }
}

/** True if a script's listener ran, which may have left something to do. */
export function processRejections() {
  let ran = false;
  while (!late.isEmpty) {
    emitProcess('rejectionHandled', late.shift());
    ran = true;
  }
  while (!unhandled.isEmpty) {
    const entry = unhandled.shift();
    apply(forget, entries, [entry.promise]);
    if (entry.handled) continue;
    ran = true;
    apply(add, announced, [entry.promise]);
    if (listens('unhandledRejection')) {
      try {
        emitProcess('unhandledRejection', entry.reason, entry.promise);
      } catch (error) {
        fail(error, 'uncaughtException');
      }
    } else {
      reportUnhandled(entry.reason);
    }
  }
  return ran;
}
