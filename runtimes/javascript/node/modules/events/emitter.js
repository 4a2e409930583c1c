// The class EventEmitter.
//
// Listeners are in `_events`, by event: a function where there is one, a list where there are more. Programs read
// `_events`, `_eventsCount` and `_maxListeners`, and `util.inspect` shows them, so they have the names and the
// shapes that Node documents nowhere and everybody relies on.

import { rememberEmission } from '../../internal/uncaught.js';
import process from '../process.js';
import { nodeError } from '../../internal/errors.js';
import { validateBoolean, validateFunction, validateNumber } from '../../internal/validators.js';
import { inspect } from '../util/inspect.js';

const capturing = Symbol('kCapture');
// True for an emitter that was made with events in it: those keep their place when nobody listens any longer.
const keepsNames = Symbol('shapeMode');
const onRejection = Symbol.for('nodejs.rejection');
export const kErrorMonitor = Symbol('events.errorMonitor');

let limitForAll = 10;

export function EventEmitter(opts) {
  EventEmitter.init.call(this, opts);
}

EventEmitter.errorMonitorSymbol = kErrorMonitor;

// `events.js` puts these two on the class, in their place among its other properties.
EventEmitter.captureRejectionsProperty = accessor(
  () => EventEmitter.prototype[capturing],
  (wanted) => {
    validateBoolean(wanted, 'EventEmitter.captureRejections');
    EventEmitter.prototype[capturing] = wanted;
  },
);
EventEmitter.defaultMaxListenersProperty = accessor(
  () => limitForAll,
  (limit) => {
    validateNumber(limit, 'defaultMaxListeners', 0);
    limitForAll = limit;
  },
);

function accessor(get, set) {
  return { get, set, enumerable: true };
}

EventEmitter.init = function (options) {
  // A class may have put listeners of its own there before.
  const own = this._events !== Object.getPrototypeOf(this)._events && this._events !== undefined;
  if (!own) clear(this);
  this[keepsNames] = own;
  this._maxListeners ||= undefined;
  const wanted = options?.captureRejections;
  if (wanted) validateBoolean(wanted, 'options.captureRejections');
  this[capturing] = wanted ? true : EventEmitter.prototype[capturing];
};

Object.assign(EventEmitter.prototype, {
  _events: undefined,
  _eventsCount: 0,
  _maxListeners: undefined,

  setMaxListeners(n) {
    validateNumber(n, 'setMaxListeners', 0);
    this._maxListeners = n;
    return this;
  },

  getMaxListeners() {
    return limitOf(this);
  },

  emit(type, ...args) {
    if (type === 'error') beforeError(this, args);
    const registered = this._events?.[type];
    if (registered === undefined) return false;
    if (typeof registered === 'function') {
      deliver(this, registered, type, args);
    } else {
      // A copy: listeners may come and go while the event is delivered.
      for (const listener of [...registered]) deliver(this, listener, type, args);
    }
    return true;
  },

  addListener(type, listener) {
    return register(this, type, listener, 'push');
  },

  on: undefined,

  prependListener(type, listener) {
    return register(this, type, listener, 'unshift');
  },

  once(type, listener) {
    return this.on(type, onlyOnce(this, type, listener));
  },

  prependOnceListener(type, listener) {
    return this.prependListener(type, onlyOnce(this, type, listener));
  },

  removeListener(type, listener) {
    validateFunction(listener, 'listener');
    const all = registeredFor(this, type);
    const last = all.findLastIndex((each) => isFor(each, listener));
    if (last < 0) return this;
    if (all.length === 1) {
      dropEvent(this, type);
      reportRemoval(this, type, all[0].listener || listener);
      return this;
    }
    // The list itself is changed, so that its note about a warning stays.
    const list = this._events[type];
    list.splice(last, 1);
    if (list.length === 1) [this._events[type]] = list;
    reportRemoval(this, type, listener);
    return this;
  },

  off: undefined,

  removeAllListeners(type) {
    const every = arguments.length === 0;
    if (this._events === undefined) return this;
    if (this._events.removeListener !== undefined) {
      // Somebody wants to hear of each, last come first gone; of itself it hears last.
      const others = Reflect.ownKeys(this._events).filter((name) => name !== 'removeListener');
      const names = every ? [...others, 'removeListener'] : [type];
      for (const name of names) {
        for (const listener of registeredFor(this, name).reverse()) this.removeListener(name, listener);
      }
      if (!every) return this;
    }
    if (every) clear(this);
    else if (this._events[type] !== undefined) dropEvent(this, type);
    this[keepsNames] = false;
    return this;
  },

  listeners(type) {
    return registeredFor(this, type).map((each) => each.listener || each);
  },

  rawListeners(type) {
    return registeredFor(this, type);
  },

  listenerCount(type, listener) {
    const all = registeredFor(this, type);
    return listener == null ? all.length : all.filter((each) => isFor(each, listener)).length;
  },

  eventNames() {
    return this._eventsCount === 0 ? [] : Reflect.ownKeys(this._events);
  },
});
EventEmitter.prototype.on = EventEmitter.prototype.addListener;
EventEmitter.prototype.off = EventEmitter.prototype.removeListener;
Object.defineProperty(EventEmitter.prototype, capturing, { value: false, writable: true });

/** The functions registered for an event, in a list of the caller's own. */
function registeredFor(emitter, type) {
  const registered = emitter._events?.[type];
  if (registered === undefined) return [];
  return typeof registered === 'function' ? [registered] : [...registered];
}

/** Whether a registered function is this listener, or calls it once. */
function isFor(registered, listener) {
  return registered === listener || registered.listener === listener;
}

function limitOf(emitter) {
  return emitter._maxListeners ?? limitForAll;
}

function clear(emitter) {
  emitter._events = { __proto__: null };
  emitter._eventsCount = 0;
}

function dropEvent(emitter, type) {
  if (emitter[keepsNames]) {
    emitter._events[type] = undefined;
    emitter._eventsCount -= 1;
  } else if (emitter._eventsCount === 1) {
    clear(emitter);
  } else {
    delete emitter._events[type];
    emitter._eventsCount -= 1;
  }
}

function reportRemoval(emitter, type, listener) {
  if (emitter._events.removeListener !== undefined) emitter.emit('removeListener', type, listener);
}

function register(emitter, type, listener, where) {
  validateFunction(listener, 'listener');
  if (emitter._events === undefined) clear(emitter);
  // Before it is registered: a listener of this event may register others, which then come first.
  if (emitter._events.newListener !== undefined) emitter.emit('newListener', type, listener.listener ?? listener);
  const events = emitter._events;
  const before = events[type];
  if (before === undefined) {
    events[type] = listener;
    emitter._eventsCount += 1;
    return emitter;
  }
  const list = typeof before === 'function' ? [before] : before;
  list[where](listener);
  events[type] = list;
  warnOfLeak(emitter, type, list);
  return emitter;
}

/** Says once for each list that more listen than the limit allows. */
function warnOfLeak(emitter, type, list) {
  const limit = limitOf(emitter);
  const count = list.length;
  if (limit <= 0 || count <= limit || list.warned) return;
  list.warned = true;
  const about = inspect(emitter, { depth: -1 });
  const sentences = [
    'Possible EventEmitter memory leak detected.',
    `${count} ${String(type)} listeners added to ${about}.`,
    `MaxListeners is ${limit}.`,
    'Use emitter.setMaxListeners() to increase limit',
  ];
  const warning = Object.assign(new Error(sentences.join(' ')), { name: 'MaxListenersExceededWarning', emitter, type, count });
  process.emitWarning(warning);
}

function onlyOnce(emitter, type, listener) {
  validateFunction(listener, 'listener');
  let due = true;
  const wrapper = (...args) => {
    if (!due) return undefined;
    due = false;
    emitter.removeListener(type, wrapper);
    return listener.apply(emitter, args);
  };
  wrapper.listener = listener;
  return Object.defineProperty(wrapper, 'name', { value: 'bound onceWrapper' });
}

/** Calls a listener, and sees to the promise it may give back. */
function deliver(emitter, listener, type, args) {
  const returned = listener.apply(emitter, args);
  if (returned === undefined || returned === null || !emitter[capturing]) return;
  try {
    // Read once: it may be a getter.
    const { then } = returned;
    if (typeof then !== 'function') return;
    then.call(returned, undefined, (reason) => process.nextTick(reportRejection, emitter, reason, type, args));
  } catch (thrown) {
    emitter.emit('error', thrown);
  }
}

function reportRejection(emitter, reason, type, args) {
  if (typeof emitter[onRejection] === 'function') {
    emitter[onRejection](reason, type, ...args);
    return;
  }
  // A failing 'error' listener must not be caught again without end.
  const before = emitter[capturing];
  emitter[capturing] = false;
  try {
    emitter.emit('error', reason);
  } finally {
    emitter[capturing] = before;
  }
}

/** Shows an error to who monitors them, and throws it if nobody else listens. */
function beforeError(emitter, args) {
  if (emitter._events?.[kErrorMonitor] !== undefined) emitter.emit(kErrorMonitor, ...args);
  if (emitter._events?.error !== undefined) return;
  const [reason] = args;
  if (reason instanceof Error) {
    rememberEmission(reason, emitter, EventEmitter.prototype.emit);
    throw reason;
  }
  throw nodeError(Error, 'ERR_UNHANDLED_ERROR', `Unhandled error. (${shown(reason)})`, { context: reason });
}

function shown(value) {
  try {
    return inspect(value);
  } catch {
    return value;
  }
}
