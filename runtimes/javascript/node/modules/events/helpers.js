// The functions beside the class: once, on, getEventListeners and their like, for emitters and event targets alike.

import { AbortError, invalidArgType } from '../../internal/errors.js';
import { validateAbortSignal, validateFunction, validateInteger, validateNumber, validateObject } from '../../internal/validators.js';
import { EventTarget, kMaxEventTargetListeners, kMaxEventTargetListenersWarned, listenersFor } from '../../globals/event_target.js';
import { EventEmitter } from './emitter.js';

/** Asks an emitter by its method, an event target by `ofTarget`; anything else is no argument. */
function ask(subject, method, args, ofTarget) {
  if (typeof subject?.[method] === 'function') return subject[method](...args);
  if (subject instanceof EventTarget) return ofTarget();
  throw invalidArgType('emitter', ['EventEmitter', 'EventTarget'], subject);
}

export function getEventListeners(emitterOrTarget, type) {
  return ask(emitterOrTarget, 'listeners', [type], () => listenersFor(emitterOrTarget, type));
}

export function getMaxListeners(emitterOrTarget) {
  const ofTarget = () => emitterOrTarget[kMaxEventTargetListeners] ?? EventEmitter.defaultMaxListeners;
  return ask(emitterOrTarget, 'getMaxListeners', [], ofTarget);
}

export function listenerCount(emitterOrTarget, type) {
  const counts = typeof emitterOrTarget.listenerCount === 'function' || emitterOrTarget instanceof EventTarget;
  if (!counts) return EventEmitter.prototype.listenerCount.call(emitterOrTarget, type);
  return ask(emitterOrTarget, 'listenerCount', [type], () => listenersFor(emitterOrTarget, type).length);
}

// An anonymous function in Node, which `util.inspect` shows.
export const setMaxListeners = (() => (n = EventEmitter.defaultMaxListeners, ...subjects) => {
  validateNumber(n, 'setMaxListeners', 0);
  if (subjects.length === 0) EventEmitter.defaultMaxListeners = n;
  for (const subject of subjects) limit(subject, n);
})();

function limit(subject, n) {
  if (subject instanceof EventTarget) {
    Object.assign(subject, { [kMaxEventTargetListeners]: n, [kMaxEventTargetListenersWarned]: false });
    return;
  }
  if (typeof subject.setMaxListeners !== 'function') {
    throw invalidArgType('eventTargets', ['EventEmitter', 'EventTarget'], subject);
  }
  subject.setMaxListeners(n);
}

/** Listeners that were added together and are removed together. */
class Subscription {
  #undo = [];

  add(subject, name, listener, { once = false } = {}) {
    if (typeof subject.on === 'function') {
      subject[once ? 'once' : 'on'](name, listener);
      this.#undo.push(() => subject.removeListener(name, listener));
    } else if (typeof subject.addEventListener === 'function') {
      subject.addEventListener(name, listener, { once });
      this.#undo.push(() => subject.removeEventListener(name, listener));
    } else {
      throw invalidArgType('emitter', 'EventEmitter', subject);
    }
  }

  /** The failure of an emitter. Event targets have none. */
  addError(subject, name, listener, options) {
    if (name !== 'error' && typeof subject.on === 'function') this.add(subject, 'error', listener, options);
  }

  addAbort(signal, fail) {
    if (signal) this.add(signal, 'abort', () => fail(abortion(signal)), { once: true });
  }

  end() {
    for (const undo of this.#undo.splice(0)) undo();
  }
}

const abortion = (signal) => new AbortError(undefined, { cause: signal.reason });

/** The signal among the options, if it may still be waited for. */
function signalIn(options) {
  validateObject(options, 'options');
  validateAbortSignal(options.signal, 'options.signal');
  if (options.signal?.aborted) throw abortion(options.signal);
  return options.signal;
}

export async function once(emitter, name, options = {}) {
  const signal = signalIn(options);
  const { promise, resolve, reject } = Promise.withResolvers();
  const subscription = new Subscription();
  const ending = (settle) => (value) => {
    subscription.end();
    settle(value);
  };
  const fail = ending(reject);
  const succeed = ending(resolve);
  subscription.add(emitter, name, (...args) => succeed(args), { once: true });
  subscription.addError(emitter, name, fail, { once: true });
  subscription.addAbort(signal, fail);
  return promise;
}

/** An option of `on`: each value is the event's first argument instead of the list of them. */
export const kFirstEventParam = Symbol('nodejs.kFirstEventParam');

const AsyncIteratorPrototype = Object.getPrototypeOf(Object.getPrototypeOf(async function* () {}).prototype);

/** A water mark by either of the two ways it is spelt. */
function mark(options, level, otherwise) {
  const value = options[`${level}WaterMark`] ?? options[`${level}Watermark`] ?? otherwise;
  validateInteger(value, `options.${level}WaterMark`, 1);
  return value;
}

export function on(emitter, event, options = {}) {
  const signal = signalIn(options);
  const high = mark(options, 'high', Number.MAX_SAFE_INTEGER);
  const low = mark(options, 'low', 1);
  const pick = options[kFirstEventParam] ? ([first]) => first : (args) => args;

  // Never both filled: what came and nobody took, and who asked and got nothing yet.
  const arrived = [];
  const askers = [];
  const subscription = new Subscription();
  let failure;
  let held = false;
  let over = false;

  const hold = (wanted) => {
    held = wanted;
    if (wanted) emitter.pause?.();
    else emitter.resume?.();
  };
  const arrive = (...args) => {
    const result = { value: pick(args), done: false };
    if (askers.length > 0) {
      askers.shift().resolve(result);
      return;
    }
    arrived.push(result);
    if (!held && arrived.length > high) hold(true);
  };
  const end = () => {
    over = true;
    subscription.end();
    const last = { value: undefined, done: true };
    for (const asker of askers.splice(0)) asker.resolve(last);
    return Promise.resolve(last);
  };
  const fail = (reason) => {
    if (askers.length > 0) askers.shift().reject(reason);
    else failure = { reason };
    end();
  };

  subscription.add(emitter, event, arrive);
  subscription.addError(emitter, event, fail);
  for (const closing of options.close ?? []) subscription.add(emitter, closing, end);
  subscription.addAbort(signal, fail);

  const methods = {
    next() {
      if (arrived.length > 0) {
        const result = arrived.shift();
        if (held && arrived.length < low) hold(false);
        return Promise.resolve(result);
      }
      if (failure) {
        const { reason } = failure;
        failure = undefined;
        return Promise.reject(reason);
      }
      if (over) return end();
      const asker = Promise.withResolvers();
      askers.push(asker);
      return asker.promise;
    },
    return: () => end(),
    throw(reason) {
      if (reason instanceof Error) fail(reason);
      else throw invalidArgType('EventEmitter.AsyncIterator', 'Error', reason);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
  return Object.setPrototypeOf(methods, AsyncIteratorPrototype);
}

export function addAbortListener(signal, listener) {
  if (signal === undefined) throw invalidArgType('signal', 'AbortSignal', signal);
  validateAbortSignal(signal, 'signal');
  validateFunction(listener, 'listener');
  const subscription = new Subscription();
  if (signal.aborted) queueMicrotask(() => listener());
  else subscription.add(signal, 'abort', listener, { once: true });
  return { __proto__: null, [Symbol.dispose]: () => subscription.end() };
}
