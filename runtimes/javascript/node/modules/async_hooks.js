// node:async_hooks. The context of AsyncLocalStorage travels with ticks, timers and promises; hooks do not fire.

import { invalidArgType, nodeError } from '../internal/errors.js';
import { validateFunction, validateString } from '../internal/validators.js';
import { getContext, setContext } from '../internal/task.js';

let lastId = 1;

/** Runs `fn` with another context, and comes back to this one. */
function within(context, fn, self, args) {
  const before = getContext();
  setContext(context);
  try {
    return Reflect.apply(fn, self, args);
  } finally {
    setContext(before);
  }
}

export class AsyncLocalStorage {
  #default;
  #name;
  #enabled = true;

  constructor(options = {}) {
    this.#default = options.defaultValue;
    this.#name = options.name === undefined ? '' : `${options.name}`;
  }

  get name() {
    return this.#name;
  }

  static bind(fn) {
    return AsyncResource.bind(fn);
  }

  static snapshot() {
    const context = getContext();
    return (fn, ...args) => within(context, fn, undefined, args);
  }

  disable() {
    this.#enabled = false;
    this.enterWith(undefined);
  }

  enterWith(store) {
    this.#enabled = true;
    // A context is a map from storage to value, never changed once it is in force.
    setContext(new Map(getContext()).set(this, store));
  }

  run(store, fn, ...args) {
    this.#enabled = true;
    return within(new Map(getContext()).set(this, store), fn, null, args);
  }

  exit(fn, ...args) {
    const context = new Map(getContext());
    context.delete(this);
    return within(context, fn, null, args);
  }

  getStore() {
    const context = getContext();
    if (!this.#enabled || !context?.has(this)) return this.#default;
    return context.get(this);
  }
}

export class AsyncResource {
  #context = getContext();
  #id = ++lastId;
  #trigger = 0;

  constructor(type, options = {}) {
    validateString(type, 'type');
    const trigger = typeof options === 'number' ? options : (options.triggerAsyncId ?? 1);
    if (!Number.isSafeInteger(trigger) || trigger < -1)
      throw nodeError(RangeError, 'ERR_INVALID_ASYNC_ID', `Invalid triggerAsyncId value: ${trigger}`);
    this.#trigger = trigger;
  }

  runInAsyncScope(fn, thisArg, ...args) {
    return within(this.#context, fn, thisArg, args);
  }

  emitDestroy() {
    return this;
  }

  asyncId() {
    return this.#id;
  }

  triggerAsyncId() {
    return this.#trigger;
  }

  bind(fn, thisArg) {
    validateFunction(fn, 'fn');
    const resource = this;
    const bound =
      thisArg === undefined
        ? function (...args) {
            return resource.runInAsyncScope(fn, this, ...args);
          }
        : (...args) => resource.runInAsyncScope(fn, thisArg, ...args);
    Object.defineProperty(bound, 'length', { value: fn.length, configurable: true });
    return bound;
  }

  static bind(fn, type, thisArg) {
    return new AsyncResource(type || fn.name || 'bound-anonymous-fn').bind(fn, thisArg);
  }
}

class AsyncHook {
  enable() {
    return this;
  }

  disable() {
    return this;
  }
}

function createHook(callbacks) {
  if (callbacks === null || typeof callbacks !== 'object') throw invalidArgType('callbacks', 'Object', callbacks);
  for (const name of ['init', 'before', 'after', 'destroy', 'promiseResolve']) {
    if (callbacks[name] !== undefined && typeof callbacks[name] !== 'function')
      throw nodeError(TypeError, 'ERR_ASYNC_CALLBACK', `hook.${name} must be a function`);
  }
  return new AsyncHook();
}

export default {
  AsyncLocalStorage,
  createHook,
  executionAsyncId: () => 1,
  triggerAsyncId: () => 0,
  executionAsyncResource: () => ({}),
  asyncWrapProviders: Object.freeze({ __proto__: null, NONE: 0 }),
  AsyncResource,
};
