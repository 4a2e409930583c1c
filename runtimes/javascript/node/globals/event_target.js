// EventTarget, Event and CustomEvent.

import process from '../modules/process.js';
import { invalidArgType, invalidThis, missingArgs, nodeError } from '../internal/errors.js';
import { validateObject } from '../internal/validators.js';
import { inspect } from '../modules/util/inspect.js';
import { now } from './clock.js';

export const kMaxEventTargetListeners = Symbol('events.maxEventTargetListeners');
export const kMaxEventTargetListenersWarned = Symbol('events.maxEventTargetListenersWarned');
const kIsEventTarget = Symbol.for('nodejs.event_target');
const customInspect = Symbol.for('nodejs.util.inspect.custom');

const DEFAULT_MAX_LISTENERS = 10;

/** How event classes print: their name and a few of their properties. */
function show(self, properties, depth, options, name = self.constructor.name) {
  if (depth < 0) return name;
  const inner = { ...options, depth: Number.isInteger(options.depth) ? options.depth - 1 : options.depth };
  return `${name} ${inspect(properties, inner)}`;
}

function exposed(prototype, names, tag) {
  for (const name of names) Object.defineProperty(prototype, name, { enumerable: true });
  Object.defineProperty(prototype, Symbol.toStringTag, { value: tag, configurable: true });
}

export class Event {
  #type;
  #bubbles = false;
  #cancelable = false;
  #composed = false;
  #defaultPrevented = false;
  #stopped = false;
  #propagationStopped = false;
  #timeStamp = now();
  #target = null;
  #current = null;
  #passive = false;
  #dispatching = false;

  constructor(type, options = undefined) {
    if (arguments.length === 0) throw missingArgs('type');
    if (options != null) {
      validateObject(options, 'options', { allowArray: true, allowFunction: true });
      this.#bubbles = Boolean(options.bubbles);
      this.#cancelable = Boolean(options.cancelable);
      this.#composed = Boolean(options.composed);
    }
    this.#type = `${type}`;
  }

  static NONE = 0;
  static CAPTURING_PHASE = 1;
  static AT_TARGET = 2;
  static BUBBLING_PHASE = 3;

  static begin(event, target) {
    event.#dispatching = true;
    event.#target = event.#current = target;
  }

  static end(event) {
    event.#dispatching = false;
    event.#current = null;
    event.#stopped = false;
    event.#propagationStopped = false;
  }

  static isDispatching = (event) => event.#dispatching;
  static isStopped = (event) => event.#stopped;
  static setPassive = (event, passive) => (event.#passive = passive);
  static isEvent = (value) => typeof value === 'object' && value !== null && #type in value;

  [customInspect](depth, options) {
    if (!(#type in this)) throw invalidThis('Event');
    return show(
      this,
      { type: this.#type, defaultPrevented: this.#defaultPrevented, cancelable: this.#cancelable, timeStamp: this.#timeStamp },
      depth,
      options,
    );
  }

  initEvent(type, bubbles = false, cancelable = false) {
    if (arguments.length === 0) throw missingArgs('type');
    if (this.#dispatching) return;
    this.#type = `${type}`;
    this.#bubbles = Boolean(bubbles);
    this.#cancelable = Boolean(cancelable);
  }

  stopImmediatePropagation() {
    this.#propagationStopped = true;
    this.#stopped = true;
  }

  preventDefault() {
    if (this.#cancelable && !this.#passive) this.#defaultPrevented = true;
  }

  get target() {
    return this.#target;
  }

  get currentTarget() {
    return this.#current;
  }

  get srcElement() {
    return this.#target;
  }

  get type() {
    return this.#type;
  }

  get cancelable() {
    return this.#cancelable;
  }

  get defaultPrevented() {
    return this.#cancelable && this.#defaultPrevented;
  }

  get timeStamp() {
    return this.#timeStamp;
  }

  composedPath() {
    return this.#dispatching ? [this.#current] : [];
  }

  get returnValue() {
    return !this.#cancelable || !this.#defaultPrevented;
  }

  set returnValue(value) {
    if (!value) this.preventDefault();
  }

  get bubbles() {
    return this.#bubbles;
  }

  get composed() {
    return this.#composed;
  }

  get eventPhase() {
    return this.#dispatching ? Event.AT_TARGET : Event.NONE;
  }

  get cancelBubble() {
    return this.#propagationStopped;
  }

  set cancelBubble(value) {
    if (value) this.#propagationStopped = true;
  }

  stopPropagation() {
    this.#propagationStopped = true;
  }

  get isTrusted() {
    return false;
  }
}

// Internal steps leave the public class before any script sees it.
const { begin, end, isDispatching, isStopped, setPassive, isEvent } = Event;
for (const name of ['begin', 'end', 'isDispatching', 'isStopped', 'setPassive', 'isEvent']) delete Event[name];
for (const name of ['NONE', 'CAPTURING_PHASE', 'AT_TARGET', 'BUBBLING_PHASE']) {
  Object.defineProperty(Event, name, { writable: false, enumerable: true, configurable: false });
}
exposed(
  Event.prototype,
  [
    'initEvent',
    'stopImmediatePropagation',
    'preventDefault',
    'target',
    'currentTarget',
    'srcElement',
    'type',
    'cancelable',
    'defaultPrevented',
    'timeStamp',
    'composedPath',
    'returnValue',
    'bubbles',
    'composed',
    'eventPhase',
    'cancelBubble',
    'stopPropagation',
    'isTrusted',
  ],
  'Event',
);

export class CustomEvent extends Event {
  #detail;

  constructor(type, options = undefined) {
    if (arguments.length === 0) throw missingArgs('type');
    super(type, options);
    this.#detail = options?.detail ?? null;
  }

  get detail() {
    return this.#detail;
  }
}
exposed(CustomEvent.prototype, ['detail'], 'CustomEvent');

export class EventTarget {
  #listeners = new Map();

  static {
    Object.defineProperty(this, kIsEventTarget, { value: true });
  }

  static list(target, type) {
    return target.#listeners.get(type) ?? [];
  }

  static check(value) {
    if (typeof value !== 'object' || value === null || !(#listeners in value)) throw invalidThis('EventTarget');
  }

  addEventListener(type, listener, options = {}) {
    EventTargetInternals.check(this);
    if (arguments.length < 2) throw missingArgs('type', 'listener');
    const { capture, once, passive, signal } = flags(options);
    if (!isListener(listener)) return;
    if (signal?.aborted) return;
    type = `${type}`;
    let list = this.#listeners.get(type);
    if (!list) this.#listeners.set(type, (list = []));
    if (list.some((each) => each.listener === listener && each.capture === capture)) return;
    list.push({ listener, capture, once, passive, removed: false });
    signal?.addEventListener('abort', () => this.removeEventListener(type, listener, options), { once: true });
    this.#warn(type, list.length);
  }

  #warn(type, count) {
    const max = this[kMaxEventTargetListeners] ?? DEFAULT_MAX_LISTENERS;
    if (max <= 0 || count <= max || this[kMaxEventTargetListenersWarned]) return;
    this[kMaxEventTargetListenersWarned] = true;
    const warning = new Error(
      `Possible EventTarget memory leak detected. ${count} ${type} listeners added to ${inspect(this, { depth: -1 })}. ` +
        `MaxListeners is ${max}. Use events.setMaxListeners() to increase limit`,
    );
    warning.name = 'MaxListenersExceededWarning';
    warning.target = this;
    warning.type = type;
    warning.count = count;
    process.emitWarning(warning);
  }

  removeEventListener(type, listener, options = {}) {
    EventTargetInternals.check(this);
    if (arguments.length < 2) throw missingArgs('type', 'listener');
    if (!isListener(listener)) return;
    type = `${type}`;
    const capture = typeof options === 'boolean' ? options : Boolean(options?.capture);
    const list = this.#listeners.get(type);
    const position = list ? list.findIndex((each) => each.listener === listener && each.capture === capture) : -1;
    if (position === -1) return;
    list[position].removed = true;
    list.splice(position, 1);
  }

  dispatchEvent(event) {
    EventTargetInternals.check(this);
    if (arguments.length < 1) throw missingArgs('event');
    if (!isEvent(event)) throw invalidArgType('event', 'Event', event);
    if (isDispatching(event)) throw nodeError(Error, 'ERR_EVENT_RECURSION', `The event "${event.type}" is already being dispatched`);
    begin(event, this);
    for (const entry of (this.#listeners.get(event.type) ?? []).slice()) {
      if (entry.removed) continue;
      if (entry.once) this.removeEventListener(event.type, entry.listener, entry.capture);
      this.#call(entry, event);
      if (isStopped(event)) break;
    }
    end(event);
    return !event.defaultPrevented;
  }

  #call(entry, event) {
    setPassive(event, entry.passive);
    try {
      const { listener } = entry;
      const result = typeof listener === 'function' ? listener.call(this, event) : listener.handleEvent(event);
      if (typeof result?.then === 'function') result.then(undefined, throwLater);
    } catch (error) {
      throwLater(error);
    } finally {
      setPassive(event, false);
    }
  }

  [customInspect](depth, options) {
    EventTargetInternals.check(this);
    return show(this, {}, depth, options, this.constructor?.name || 'EventTarget');
  }
}

const EventTargetInternals = { list: EventTarget.list, check: EventTarget.check };
delete EventTarget.list;
delete EventTarget.check;
exposed(EventTarget.prototype, ['addEventListener', 'removeEventListener', 'dispatchEvent'], 'EventTarget');

/** A listener's error does not stop the others: it is thrown once the current work is done. */
function throwLater(error) {
  process.nextTick(() => {
    throw error;
  });
}

function isListener(listener) {
  if (typeof listener === 'function' || typeof listener?.handleEvent === 'function') return true;
  if (listener == null) return false;
  if (typeof listener === 'object') return true;
  throw invalidArgType('listener', 'EventListener', listener);
}

function flags(options) {
  if (typeof options === 'boolean') return { capture: options, once: false, passive: false };
  if (options == null) return { capture: false, once: false, passive: false };
  validateObject(options, 'options', { allowArray: true, allowFunction: true });
  const { signal } = options;
  if (signal !== undefined && !(signal instanceof EventTarget)) throw invalidArgType('options.signal', 'AbortSignal', signal);
  return { capture: Boolean(options.capture), once: Boolean(options.once), passive: Boolean(options.passive), signal };
}

export function listenersFor(target, type) {
  return EventTargetInternals.list(target, type).map((entry) => entry.listener);
}

/** Gives `prototype` an `on<type>` property, which holds at most one listener. */
export function defineEventHandler(prototype, type) {
  const handlers = new WeakMap();
  const name = `on${type}`;
  const accessors = {
    get [name]() {
      return handlers.get(this)?.listener ?? null;
    },
    set [name](listener) {
      const current = handlers.get(this);
      if (current) {
        current.listener = typeof listener === 'function' ? listener : null;
        return;
      }
      if (typeof listener !== 'function') return;
      const handler = { listener };
      handlers.set(this, handler);
      this.addEventListener(type, function (event) {
        return handler.listener?.call(this, event);
      });
    },
  };
  const { get, set } = Object.getOwnPropertyDescriptor(accessors, name);
  Object.defineProperty(prototype, name, { get, set, enumerable: true, configurable: true });
}

export { show as showEvent, exposed };
