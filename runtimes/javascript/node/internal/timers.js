// Timers and immediates.

import { binding } from './binding.js';
import { atStart } from './start.js';
import { Queue } from './queue.js';
import { drain, getContext, run } from './task.js';
import { validateFunction } from './validators.js';

const { isNaN } = Number;
const LONGEST = 2 ** 31 - 1;

// A heap ordered by time, then by when the timer was made.
const heap = [];
let sequence = 0;
let living = 0;
let now = 0;
let origin = 0;
const known = new Map();
const { get, set, delete: remove } = Map.prototype;
const { apply } = Reflect;

/** Milliseconds since the run began: the time of the event loop, which stands still inside of a callback. */
export function updateNow() {
  now = Math.floor(binding.now() - origin);
}

atStart(() => {
  origin = binding.now();
  now = 0;
});

const before = (a, b) => a.due < b.due || (a.due === b.due && a.order < b.order);

function place(timer, index) {
  heap[index] = timer;
  timer.index = index;
}

function up(timer, index) {
  while (index > 0) {
    const parent = (index - 1) >> 1;
    if (!before(timer, heap[parent])) break;
    place(heap[parent], index);
    index = parent;
  }
  place(timer, index);
}

function down(timer, index) {
  for (;;) {
    let child = 2 * index + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && before(heap[child + 1], heap[child])) child++;
    if (!before(heap[child], timer)) break;
    place(heap[child], index);
    index = child;
  }
  place(timer, index);
}

function insert(timer) {
  timer.due = now + timer.delay;
  timer.order = sequence++;
  heap.length++;
  up(timer, heap.length - 1);
  if (timer.counted) living++;
}

function take(timer) {
  const { index } = timer;
  if (index < 0) return;
  timer.index = -1;
  if (timer.counted) living--;
  const last = heap[heap.length - 1];
  heap.length--;
  if (last === timer) return;
  if (index > 0 && before(last, heap[(index - 1) >> 1])) up(last, index);
  else down(last, index);
}

function delayOf(after) {
  let delay = after * 1;
  if (delay > LONGEST) {
    globalThis.process.emitWarning(`${delay} does not fit into a 32-bit signed integer.\nTimeout duration was set to 1.`, 'TimeoutOverflowWarning');
    delay = 1;
  } else if (delay < 0) {
    globalThis.process.emitWarning(`${delay} is a negative number.\nTimeout duration was set to 1.`, 'TimeoutNegativeWarning');
    delay = 1;
  } else if (isNaN(delay)) {
    if (after !== undefined) {
      globalThis.process.emitWarning(`${delay} is not a number.\nTimeout duration was set to 1.`, 'TimeoutNaNWarning');
    }
    delay = 1;
  }
  return delay >= 1 ? Math.trunc(delay) : 1;
}

let identities = 1;
const inner = new WeakMap();
const { get: innerOf, set: setInner } = WeakMap.prototype;
const timerOf = (timeout) => apply(innerOf, inner, [timeout]);

export class Timeout {
  constructor(callback, after, args, repeat) {
    const delay = delayOf(after);
    this._idleTimeout = delay;
    this._onTimeout = callback;
    this._repeat = repeat ? delay : null;
    this._destroyed = false;
    const timer = { owner: this, args, delay, repeat, counted: true, index: -1, due: 0, order: 0, context: getContext(), id: 0 };
    apply(setInner, inner, [this, timer]);
    insert(timer);
  }

  refresh() {
    const timer = timerOf(this);
    if (this._destroyed && timer.index < 0) return this;
    take(timer);
    insert(timer);
    return this;
  }

  ref() {
    const timer = timerOf(this);
    if (!timer.counted && timer.index >= 0) living++;
    timer.counted = true;
    return this;
  }

  unref() {
    const timer = timerOf(this);
    if (timer.counted && timer.index >= 0) living--;
    timer.counted = false;
    return this;
  }

  hasRef() {
    return timerOf(this).counted;
  }

  close() {
    clearTimeout(this);
    return this;
  }

  [Symbol.dispose]() {
    clearTimeout(this);
  }

  [Symbol.toPrimitive]() {
    const timer = timerOf(this);
    if (!timer.id) {
      timer.id = identities++;
      apply(set, known, [timer.id, this]);
    }
    return timer.id;
  }
}

export function setTimeout(callback, after, ...args) {
  validateFunction(callback, 'callback');
  return new Timeout(callback, after, args, false);
}

export function setInterval(callback, repeat, ...args) {
  validateFunction(callback, 'callback');
  return new Timeout(callback, repeat, args, true);
}

function end(timeout) {
  const timer = timerOf(timeout);
  take(timer);
  timeout._destroyed = true;
  timeout._onTimeout = null;
  if (timer.id) apply(remove, known, [timer.id]);
}

export function clearTimeout(timeout) {
  if (typeof timeout === 'number' || typeof timeout === 'string') timeout = apply(get, known, [Number(timeout)]);
  if (timeout instanceof Timeout && timerOf(timeout)) end(timeout);
}

export function clearInterval(timeout) {
  clearTimeout(timeout);
}

function fire(timer) {
  const { owner } = timer;
  const callback = owner._onTimeout;
  take(timer);
  if (typeof callback !== 'function') return;
  if (!timer.repeat) owner._destroyed = true;
  run(callback, owner, timer.args, timer.context);
  if (timer.repeat && !owner._destroyed && timer.index < 0) insert(timer);
  else if (!timer.repeat && timer.index < 0 && timer.id) apply(remove, known, [timer.id]);
  drain();
}

export function runTimers() {
  updateNow();
  // Timers that callbacks of this phase start wait for the next one.
  const limit = sequence;
  while (heap.length > 0 && heap[0].due <= now && heap[0].order < limit) fire(heap[0]);
}

/** Milliseconds until the next timer is due; negative if there is none that keeps the run alive. */
export function untilNextTimer() {
  if (living === 0 || heap.length === 0) return -1;
  const wait = heap[0].due - (binding.now() - origin);
  return wait > 0 ? wait : 0;
}

export const hasTimers = () => living > 0;

let immediates = new Queue();
let livingImmediates = 0;

export class Immediate {
  constructor(callback, args) {
    this._onImmediate = callback;
    this._argv = args;
    this._destroyed = false;
    this._counted = true;
    this._context = getContext();
    Object.defineProperty(this, '_counted', { enumerable: false });
    Object.defineProperty(this, '_context', { enumerable: false });
    livingImmediates++;
    immediates.push(this);
  }

  ref() {
    if (!this._counted && !this._destroyed) livingImmediates++;
    this._counted = true;
    return this;
  }

  unref() {
    if (this._counted && !this._destroyed) livingImmediates--;
    this._counted = false;
    return this;
  }

  hasRef() {
    return this._counted;
  }

  [Symbol.dispose]() {
    clearImmediate(this);
  }
}

export function setImmediate(callback, ...args) {
  validateFunction(callback, 'callback');
  return new Immediate(callback, args);
}

export function clearImmediate(immediate) {
  if (!(immediate instanceof Immediate) || immediate._destroyed) return;
  immediate._destroyed = true;
  if (immediate._counted) livingImmediates--;
}

export const hasImmediates = () => livingImmediates > 0;

export function runImmediates() {
  const due = immediates.take();
  while (!due.isEmpty) {
    const immediate = due.shift();
    if (immediate._destroyed) continue;
    clearImmediate(immediate);
    const callback = immediate._onImmediate;
    immediate._onImmediate = null;
    run(callback, immediate, immediate._argv, immediate._context);
    drain();
  }
}
