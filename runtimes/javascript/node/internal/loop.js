// The event loop: timers, operations and input, immediates; over and over while something keeps the run alive.

import { binding } from './binding.js';
import { drain, hasOperations, performOperations, run } from './task.js';
import { hasImmediates, hasTimers, runImmediates, runTimers, untilNextTimer, updateNow } from './timers.js';

// Called once when stdin can be read.
let reader = null;
let readerCounts = true;

/** Calls `callback` once stdin can be read; null takes the wish back. */
export function onInput(callback) {
  reader = callback;
}

export function countInput(counts) {
  readerCounts = counts;
}

const isAlive = () => hasOperations() || hasImmediates() || hasTimers() || (reader !== null && readerCounts);

function poll() {
  const othersWait = hasImmediates();
  const due = hasOperations() || othersWait;
  if (due || reader || hasTimers()) {
    const wait = due ? 0 : untilNextTimer();
    if (reader) {
      if (binding.wait(wait, true) && reader) {
        const callback = reader;
        reader = null;
        run(callback, undefined, []);
        drain();
      }
    } else if (wait > 0) {
      binding.wait(wait, false);
    }
  }
  performOperations(othersWait);
}

/** Runs until nothing is left to do. True if there was something. */
export function runLoop() {
  drain();
  if (!isAlive()) return false;
  while (isAlive()) {
    runTimers();
    poll();
    runImmediates();
    updateNow();
  }
  return true;
}
