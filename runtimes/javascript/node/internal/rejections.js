// Promises that were rejected and nobody listened.

import { Queue } from './queue.js';
import { emitProcess, fail, listens, reportUnhandled } from './fatal.js';

const unhandled = new Queue();
// Promises whose rejection was announced, so that a late handler can be announced too.
const announced = new WeakSet();
const { has, add, delete: remove } = WeakSet.prototype;
const { apply } = Reflect;
let late = new Queue();

/** Called by the engine: a promise was rejected without a handler, or got one after that. */
export function rejection(promise, reason, handled) {
  if (!handled) {
    unhandled.push({ promise, reason, handled: false });
    return;
  }
  for (let node = unhandled.first; node; node = node.next) {
    if (node.value.promise === promise) {
      node.value.handled = true;
      return;
    }
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
