// The functions beside the class: once, on, getEventListeners and their like, for emitters and event targets alike.

import { AbortError, invalidArgType } from '../../internal/errors.js';
import { validateAbortSignal, validateFunction, validateInteger, validateNumber, validateObject } from '../../internal/validators.js';
import { EventTarget, kMaxEventTargetListeners, kMaxEventTargetListenersWarned, listenersFor } from '../../globals/event_target.js';
import { EventEmitter } from './emitter.js';

const isEventTarget = (value) => value instanceof EventTarget;

export function getEventListeners(emitterOrTarget, type) {
  if (typeof emitterOrTarget?.listeners === 'function') return emitterOrTarget.listeners(type);
  if (isEventTarget(emitterOrTarget)) return listenersFor(emitterOrTarget, type);
  throw invalidArgType('emitter', ['EventEmitter', 'EventTarget'], emitterOrTarget);
}

export function getMaxListeners(emitterOrTarget) {
  if (typeof emitterOrTarget?.getMaxListeners === 'function') return emitterOrTarget.getMaxListeners();
  if (isEventTarget(emitterOrTarget)) return emitterOrTarget[kMaxEventTargetListeners] ?? EventEmitter.defaultMaxListeners;
  throw invalidArgType('emitter', ['EventEmitter', 'EventTarget'], emitterOrTarget);
}

export function listenerCount(emitterOrTarget, type) {
  if (typeof emitterOrTarget.listenerCount === 'function') return emitterOrTarget.listenerCount(type);
  if (isEventTarget(emitterOrTarget)) return listenersFor(emitterOrTarget, type).length;
  return EventEmitter.prototype.listenerCount.call(emitterOrTarget, type);
}

export const setMaxListeners = Object.defineProperty(
  function (n = EventEmitter.defaultMaxListeners, ...eventTargets) {
    validateNumber(n, 'setMaxListeners', 0);
    if (eventTargets.length === 0) {
      EventEmitter.defaultMaxListeners = n;
      return;
    }
    for (const target of eventTargets) {
      if (isEventTarget(target)) {
        target[kMaxEventTargetListeners] = n;
        target[kMaxEventTargetListenersWarned] = false;
      } else if (typeof target.setMaxListeners === 'function') {
        target.setMaxListeners(n);
      } else {
        throw invalidArgType('eventTargets', ['EventEmitter', 'EventTarget'], target);
      }
    }
  },
  'name',
  { value: '' },
);

function listen(emitter, name, listener, flags) {
  if (typeof emitter.on === 'function') {
    if (flags?.once) emitter.once(name, listener);
    else emitter.on(name, listener);
  } else if (typeof emitter.addEventListener === 'function') {
    emitter.addEventListener(name, listener, flags);
  } else {
    throw invalidArgType('emitter', 'EventEmitter', emitter);
  }
}

function unlisten(emitter, name, listener) {
  if (typeof emitter.removeListener === 'function') emitter.removeListener(name, listener);
  else emitter.removeEventListener(name, listener);
}

export async function once(emitter, name, options = {}) {
  validateObject(options, 'options');
  const { signal } = options;
  validateAbortSignal(signal, 'options.signal');
  if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
  return new Promise((resolve, reject) => {
    const cleanup = () => {
      unlisten(emitter, name, onEvent);
      if (typeof emitter.once === 'function') emitter.removeListener('error', onError);
      signal?.removeEventListener('abort', onAbort);
    };
    const onError = (error) => {
      cleanup();
      reject(error);
    };
    const onEvent = (...args) => {
      cleanup();
      resolve(args);
    };
    const onAbort = () => {
      cleanup();
      reject(new AbortError(undefined, { cause: signal.reason }));
    };
    listen(emitter, name, onEvent, { once: true });
    if (name !== 'error' && typeof emitter.once === 'function') emitter.once('error', onError);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** An option of `on`: each value is the event's first argument instead of the list of them. */
export const kFirstEventParam = Symbol('nodejs.kFirstEventParam');

const AsyncIteratorPrototype = Object.getPrototypeOf(Object.getPrototypeOf(async function* () {}).prototype);

export function on(emitter, event, options = {}) {
  validateObject(options, 'options');
  const { signal } = options;
  validateAbortSignal(signal, 'options.signal');
  if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
  const highWaterMark = options.highWaterMark ?? options.highWatermark ?? Number.MAX_SAFE_INTEGER;
  validateInteger(highWaterMark, 'options.highWaterMark', 1);
  const lowWaterMark = options.lowWaterMark ?? options.lowWatermark ?? 1;
  validateInteger(lowWaterMark, 'options.lowWaterMark', 1);

  const events = [];
  const waiting = [];
  let paused = false;
  let error = null;
  let finished = false;

  const iterator = Object.setPrototypeOf(
    {
      next() {
        if (events.length > 0) {
          const value = events.shift();
          if (paused && events.length < lowWaterMark) {
            emitter.resume?.();
            paused = false;
          }
          return Promise.resolve({ value, done: false });
        }
        if (error) {
          const rejected = Promise.reject(error);
          error = null;
          return rejected;
        }
        if (finished) return close();
        return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
      },
      return() {
        return close();
      },
      throw(reason) {
        if (!(reason instanceof Error)) throw invalidArgType('EventEmitter.AsyncIterator', 'Error', reason);
        onError(reason);
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    },
    AsyncIteratorPrototype,
  );

  listen(emitter, event, onEvent);
  if (event !== 'error' && typeof emitter.on === 'function') emitter.on('error', onError);
  const closers = options.close ?? [];
  for (const closer of closers) listen(emitter, closer, close);
  signal?.addEventListener('abort', onAbort, { once: true });
  return iterator;

  function onEvent(...args) {
    const value = options[kFirstEventParam] ? args[0] : args;
    if (waiting.length > 0) {
      waiting.shift().resolve({ value, done: false });
      return;
    }
    events.push(value);
    if (!paused && events.length > highWaterMark) {
      paused = true;
      emitter.pause?.();
    }
  }

  function onError(reason) {
    if (waiting.length > 0) waiting.shift().reject(reason);
    else error = reason;
    close();
  }

  function onAbort() {
    onError(new AbortError(undefined, { cause: signal.reason }));
  }

  function close() {
    unlisten(emitter, event, onEvent);
    if (event !== 'error' && typeof emitter.on === 'function') emitter.removeListener('error', onError);
    for (const closer of closers) unlisten(emitter, closer, close);
    signal?.removeEventListener('abort', onAbort);
    finished = true;
    const done = { value: undefined, done: true };
    for (const { resolve } of waiting.splice(0)) resolve(done);
    return Promise.resolve(done);
  }
}

export function addAbortListener(signal, listener) {
  if (signal === undefined) throw invalidArgType('signal', 'AbortSignal', signal);
  validateAbortSignal(signal, 'signal');
  validateFunction(listener, 'listener');
  let remove;
  if (signal.aborted) {
    queueMicrotask(() => listener());
  } else {
    signal.addEventListener('abort', listener, { once: true });
    remove = () => signal.removeEventListener('abort', listener);
  }
  return {
    __proto__: null,
    [Symbol.dispose]() {
      remove?.();
    },
  };
}
