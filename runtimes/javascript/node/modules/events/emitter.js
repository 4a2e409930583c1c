// The class EventEmitter.

import { rememberEmission } from '../../internal/uncaught.js';
import process from '../process.js';
import { nodeError } from '../../internal/errors.js';
import { validateBoolean, validateFunction, validateNumber } from '../../internal/validators.js';
import { inspect } from '../util/inspect.js';

const kCapture = Symbol('kCapture');
const kShapeMode = Symbol('shapeMode');
export const kErrorMonitor = Symbol('events.errorMonitor');
const kRejection = Symbol.for('nodejs.rejection');

let defaultMaxListeners = 10;

export function EventEmitter(opts) {
  EventEmitter.init.call(this, opts);
}

EventEmitter.prototype._events = undefined;
EventEmitter.prototype._eventsCount = 0;
EventEmitter.prototype._maxListeners = undefined;

EventEmitter.errorMonitorSymbol = kErrorMonitor;

EventEmitter.captureRejectionsProperty = {
  get() {
    return EventEmitter.prototype[kCapture];
  },
  set(value) {
    validateBoolean(value, 'EventEmitter.captureRejections');
    EventEmitter.prototype[kCapture] = value;
  },
  enumerable: true,
};

EventEmitter.defaultMaxListenersProperty = {
  get() {
    return defaultMaxListeners;
  },
  set(count) {
    validateNumber(count, 'defaultMaxListeners', 0);
    defaultMaxListeners = count;
  },
  enumerable: true,
};

Object.defineProperty(EventEmitter.prototype, kCapture, { value: false, writable: true, enumerable: false });

EventEmitter.init = function (opts) {
  if (this._events === undefined || this._events === Object.getPrototypeOf(this)._events) {
    this._events = { __proto__: null };
    this._eventsCount = 0;
    this[kShapeMode] = false;
  } else {
    this[kShapeMode] = true;
  }
  this._maxListeners = this._maxListeners || undefined;
  if (opts?.captureRejections) {
    validateBoolean(opts.captureRejections, 'options.captureRejections');
    this[kCapture] = Boolean(opts.captureRejections);
  } else {
    this[kCapture] = EventEmitter.prototype[kCapture];
  }
};

function catchRejection(emitter, promise, type, args) {
  if (!emitter[kCapture]) return;
  try {
    const { then } = promise;
    if (typeof then === 'function') {
      then.call(promise, undefined, (error) => process.nextTick(emitRejection, emitter, error, type, args));
    }
  } catch (error) {
    emitter.emit('error', error);
  }
}

function emitRejection(emitter, error, type, args) {
  if (typeof emitter[kRejection] === 'function') {
    emitter[kRejection](error, type, ...args);
    return;
  }
  // A failing 'error' listener must not be caught again without end.
  const before = emitter[kCapture];
  try {
    emitter[kCapture] = false;
    emitter.emit('error', error);
  } finally {
    emitter[kCapture] = before;
  }
}

EventEmitter.prototype.setMaxListeners = function setMaxListeners(n) {
  validateNumber(n, 'setMaxListeners', 0);
  this._maxListeners = n;
  return this;
};

function maxListenersOf(emitter) {
  return emitter._maxListeners === undefined ? defaultMaxListeners : emitter._maxListeners;
}

EventEmitter.prototype.getMaxListeners = function getMaxListeners() {
  return maxListenersOf(this);
};

function throwUnhandled(emitter, args) {
  const error = args[0];
  if (error instanceof Error) {
    rememberEmission(error, emitter, EventEmitter.prototype.emit);
    throw error;
  }
  let text;
  try {
    text = inspect(error);
  } catch {
    text = error;
  }
  throw nodeError(Error, 'ERR_UNHANDLED_ERROR', `Unhandled error. (${text})`, { context: error });
}

EventEmitter.prototype.emit = function emit(type, ...args) {
  const events = this._events;
  if (type === 'error') {
    if (events !== undefined && events[kErrorMonitor] !== undefined) this.emit(kErrorMonitor, ...args);
    if (events === undefined || events.error === undefined) throwUnhandled(this, args);
  } else if (events === undefined) {
    return false;
  }
  const handler = events[type];
  if (handler === undefined) return false;
  if (typeof handler === 'function') {
    const result = handler.apply(this, args);
    if (result !== undefined && result !== null) catchRejection(this, result, type, args);
    return true;
  }
  // A copy: listeners may come and go while the event is delivered.
  for (const listener of handler.slice()) {
    const result = listener.apply(this, args);
    if (result !== undefined && result !== null) catchRejection(this, result, type, args);
  }
  return true;
};

function add(target, type, listener, prepend) {
  validateFunction(listener, 'listener');
  let events = target._events;
  if (events === undefined) {
    events = target._events = { __proto__: null };
    target._eventsCount = 0;
  } else if (events.newListener !== undefined) {
    target.emit('newListener', type, listener.listener ?? listener);
    events = target._events;
  }
  const existing = events[type];
  if (existing === undefined) {
    events[type] = listener;
    target._eventsCount++;
    return target;
  }
  let list = existing;
  if (typeof existing === 'function') list = events[type] = prepend ? [listener, existing] : [existing, listener];
  else if (prepend) existing.unshift(listener);
  else existing.push(listener);
  const max = maxListenersOf(target);
  if (max > 0 && list.length > max && !list.warned) {
    list.warned = true;
    warnAboutLeak(target, type, list.length, max);
  }
  return target;
}

function warnAboutLeak(target, type, count, max) {
  const warning = new Error(
    `Possible EventEmitter memory leak detected. ${count} ${String(type)} listeners ` +
      `added to ${inspect(target, { depth: -1 })}. MaxListeners is ${max}. Use emitter.setMaxListeners() to increase limit`,
  );
  warning.name = 'MaxListenersExceededWarning';
  warning.emitter = target;
  warning.type = type;
  warning.count = count;
  process.emitWarning(warning);
}

EventEmitter.prototype.addListener = function addListener(type, listener) {
  return add(this, type, listener, false);
};

EventEmitter.prototype.on = EventEmitter.prototype.addListener;

EventEmitter.prototype.prependListener = function prependListener(type, listener) {
  return add(this, type, listener, true);
};

function wrapOnce(target, type, listener) {
  validateFunction(listener, 'listener');
  const state = { fired: false };
  const wrapped = function (...args) {
    if (state.fired) return undefined;
    target.removeListener(type, wrapped);
    state.fired = true;
    return listener.apply(target, args);
  };
  Object.defineProperty(wrapped, 'name', { value: 'bound onceWrapper', configurable: true });
  wrapped.listener = listener;
  return wrapped;
}

EventEmitter.prototype.once = function once(type, listener) {
  this.on(type, wrapOnce(this, type, listener));
  return this;
};

EventEmitter.prototype.prependOnceListener = function prependOnceListener(type, listener) {
  this.prependListener(type, wrapOnce(this, type, listener));
  return this;
};

EventEmitter.prototype.removeListener = function removeListener(type, listener) {
  validateFunction(listener, 'listener');
  const events = this._events;
  const list = events?.[type];
  if (list === undefined) return this;
  if (list === listener || list.listener === listener) {
    forget(this, type);
    if (events.removeListener !== undefined) this.emit('removeListener', type, list.listener || listener);
  } else if (typeof list !== 'function') {
    const position = list.findLastIndex((each) => each === listener || each.listener === listener);
    if (position < 0) return this;
    list.splice(position, 1);
    if (list.length === 1) events[type] = list[0];
    if (events.removeListener !== undefined) this.emit('removeListener', type, listener);
  }
  return this;
};

EventEmitter.prototype.off = EventEmitter.prototype.removeListener;

function forget(target, type) {
  target._eventsCount--;
  if (target[kShapeMode]) target._events[type] = undefined;
  else if (target._eventsCount === 0) target._events = { __proto__: null };
  else delete target._events[type];
}

EventEmitter.prototype.removeAllListeners = function removeAllListeners(type) {
  const events = this._events;
  if (events === undefined) return this;
  if (events.removeListener === undefined) {
    if (arguments.length === 0) {
      this._events = { __proto__: null };
      this._eventsCount = 0;
    } else if (events[type] !== undefined) {
      forget(this, type);
    }
    this[kShapeMode] = false;
    return this;
  }
  if (arguments.length === 0) {
    for (const key of Reflect.ownKeys(events)) {
      if (key !== 'removeListener') this.removeAllListeners(key);
    }
    this.removeAllListeners('removeListener');
    this._events = { __proto__: null };
    this._eventsCount = 0;
    this[kShapeMode] = false;
    return this;
  }
  const listeners = events[type];
  if (typeof listeners === 'function') this.removeListener(type, listeners);
  else if (listeners !== undefined) for (const listener of listeners.slice().reverse()) this.removeListener(type, listener);
  return this;
};

function listenersOf(target, type, unwrap) {
  const listeners = target._events?.[type];
  if (listeners === undefined) return [];
  const list = typeof listeners === 'function' ? [listeners] : listeners.slice();
  return unwrap ? list.map((listener) => listener.listener || listener) : list;
}

EventEmitter.prototype.listeners = function listeners(type) {
  return listenersOf(this, type, true);
};

EventEmitter.prototype.rawListeners = function rawListeners(type) {
  return listenersOf(this, type, false);
};

EventEmitter.prototype.listenerCount = function listenerCount(type, listener) {
  const listeners = listenersOf(this, type, false);
  if (listener == null) return listeners.length;
  return listeners.filter((each) => each === listener || each.listener === listener).length;
};

EventEmitter.prototype.eventNames = function eventNames() {
  return this._eventsCount > 0 ? Reflect.ownKeys(this._events) : [];
};
