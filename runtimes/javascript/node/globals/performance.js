// performance: the clock, marks and measures, and their observers.

import { illegalConstructor, invalidArgType, missingArgs, nodeError, notImplemented } from '../internal/errors.js';
import { validateFunction, validateObject } from '../internal/validators.js';
import { setImmediate } from '../internal/timers.js';
import { inspect } from '../modules/util/inspect.js';
import { now, timeOrigin } from './clock.js';
import { EventTarget, exposed } from './event_target.js';
import { clone } from './structured_clone.js';
import { DOMException } from './dom_exception.js';

const kMake = Symbol('make');

export class PerformanceEntry {
  #name;
  #type;
  #start;
  #duration;

  constructor(key, name, type, start, duration) {
    if (key !== kMake) throw illegalConstructor();
    this.#name = name;
    this.#type = type;
    this.#start = start;
    this.#duration = duration;
  }

  get name() {
    return this.#name;
  }

  get entryType() {
    return this.#type;
  }

  get startTime() {
    return this.#start;
  }

  get duration() {
    return this.#duration;
  }

  toJSON() {
    return { name: this.#name, entryType: this.#type, startTime: this.#start, duration: this.#duration };
  }

  [inspect.custom](depth, options) {
    if (depth < 0) return this;
    const inner = { ...options, depth: options.depth == null ? null : options.depth - 1 };
    return `${this.constructor.name} ${inspect(this.toJSON(), inner)}`;
  }
}
exposed(PerformanceEntry.prototype, ['name', 'entryType', 'startTime', 'duration', 'toJSON'], 'PerformanceEntry');

function checkedTime(value, name) {
  if (typeof value !== 'number') throw invalidArgType(name, 'number', value);
  if (value < 0) throw nodeError(TypeError, 'ERR_PERFORMANCE_INVALID_TIMESTAMP', `${value} is not a valid timestamp`);
  return value;
}

export class PerformanceMark extends PerformanceEntry {
  #detail;

  constructor(name, options = undefined) {
    if (arguments.length === 0) throw missingArgs('name');
    if (options != null) validateObject(options, 'options');
    super(kMake, `${name}`, 'mark', options?.startTime === undefined ? now() : checkedTime(options.startTime, 'startTime'), 0);
    this.#detail = options?.detail == null ? null : clone(options.detail);
  }

  get detail() {
    return this.#detail;
  }

  toJSON() {
    return { ...super.toJSON(), detail: this.#detail };
  }
}
exposed(PerformanceMark.prototype, ['detail'], 'PerformanceMark');

export class PerformanceMeasure extends PerformanceEntry {
  #detail;

  constructor(key, name, start, duration, detail) {
    super(key, name, 'measure', start, duration);
    this.#detail = detail;
  }

  get detail() {
    return this.#detail;
  }

  toJSON() {
    return { ...super.toJSON(), detail: this.#detail };
  }
}
exposed(PerformanceMeasure.prototype, ['detail'], 'PerformanceMeasure');

export class PerformanceResourceTiming extends PerformanceEntry {}

class PerformanceFunctionTiming extends PerformanceEntry {}

let entries = [];
const observers = new Set();

function record(entry) {
  if (entry.entryType === 'mark' || entry.entryType === 'measure') entries.push(entry);
  for (const observer of observers) offer(observer, entry);
  return entry;
}

export class PerformanceObserverEntryList {
  #entries;

  constructor(key, list) {
    if (key !== kMake) throw illegalConstructor();
    this.#entries = list.toSorted((a, b) => a.startTime - b.startTime);
  }

  getEntries() {
    return [...this.#entries];
  }

  getEntriesByType(type) {
    return this.#entries.filter((entry) => entry.entryType === `${type}`);
  }

  getEntriesByName(name, type = undefined) {
    return this.#entries.filter((entry) => entry.name === `${name}` && (type === undefined || entry.entryType === type));
  }
}
exposed(PerformanceObserverEntryList.prototype, ['getEntries', 'getEntriesByType', 'getEntriesByName'], 'PerformanceObserverEntryList');

const ENTRY_TYPES = ['function', 'mark', 'measure'];

export class PerformanceObserver {
  #callback;
  #types = new Set();
  #buffer = [];
  #pending = false;

  constructor(callback) {
    validateFunction(callback, 'callback');
    this.#callback = callback;
  }

  static {
    this.offer = (observer, entry) => observer.#offer(entry);
  }

  #offer(entry) {
    if (!this.#types.has(entry.entryType)) return;
    this.#buffer.push(entry);
    if (this.#pending) return;
    this.#pending = true;
    setImmediate(() => {
      this.#pending = false;
      const list = this.takeRecords();
      if (list.length > 0) this.#callback.call(this, new PerformanceObserverEntryList(kMake, list), this);
    });
  }

  observe(options = {}) {
    validateObject(options, 'options');
    const { entryTypes, type, buffered } = options;
    if (entryTypes === undefined && type === undefined) throw missingArgs('options.entryTypes', 'options.type');
    for (const each of entryTypes ?? [type]) if (ENTRY_TYPES.includes(each)) this.#types.add(each);
    if (this.#types.size === 0) return;
    observers.add(this);
    if (buffered) for (const entry of entries) this.#offer(entry);
  }

  disconnect() {
    observers.delete(this);
    this.#buffer = [];
    this.#types.clear();
  }

  takeRecords() {
    return this.#buffer.splice(0);
  }

  static get supportedEntryTypes() {
    return ENTRY_TYPES;
  }
}
const { offer } = PerformanceObserver;
delete PerformanceObserver.offer;
exposed(PerformanceObserver.prototype, ['observe', 'disconnect', 'takeRecords'], 'PerformanceObserver');

function timeOf(mark) {
  if (typeof mark === 'number') return checkedTime(mark, 'mark');
  const found = entries.findLast((entry) => entry.entryType === 'mark' && entry.name === `${mark}`);
  if (found) return found.startTime;
  if (mark === 'nodeStart' || mark === 'bootstrapComplete') return 0;
  throw new DOMException(`The "${mark}" performance mark has not been set`, 'SyntaxError');
}

export function timerify(fn, options = {}) {
  validateFunction(fn, 'fn');
  validateObject(options, 'options');
  function timerified(...args) {
    const start = now();
    const finish = () => record(new PerformanceFunctionTiming(kMake, fn.name, 'function', start, now() - start));
    const result = new.target ? Reflect.construct(fn, args, fn) : Reflect.apply(fn, this, args);
    if (typeof result?.finally === 'function') return result.finally(finish);
    finish();
    return result;
  }
  Object.defineProperties(timerified, {
    length: { value: fn.length, configurable: true },
    name: { value: `timerified ${fn.name}`, configurable: true },
  });
  return timerified;
}

export function eventLoopUtilization() {
  return { idle: 0, active: 0, utilization: 0 };
}

export function monitorEventLoopDelay() {
  throw notImplemented('perf_hooks.monitorEventLoopDelay');
}

export function createHistogram() {
  throw notImplemented('perf_hooks.createHistogram');
}

export class Performance extends EventTarget {
  constructor(key) {
    if (key !== kMake) throw illegalConstructor();
    super();
  }

  clearMarks(name = undefined) {
    entries = entries.filter((entry) => entry.entryType !== 'mark' || (name !== undefined && entry.name !== `${name}`));
  }

  clearMeasures(name = undefined) {
    entries = entries.filter((entry) => entry.entryType !== 'measure' || (name !== undefined && entry.name !== `${name}`));
  }

  clearResourceTimings() {}

  getEntries() {
    return entries.toSorted((a, b) => a.startTime - b.startTime);
  }

  getEntriesByName(name, type = undefined) {
    if (arguments.length === 0) throw missingArgs('name');
    return this.getEntries().filter((entry) => entry.name === `${name}` && (type === undefined || entry.entryType === type));
  }

  getEntriesByType(type) {
    if (arguments.length === 0) throw missingArgs('type');
    return this.getEntries().filter((entry) => entry.entryType === `${type}`);
  }

  mark(name, options = {}) {
    return record(new PerformanceMark(name, options));
  }

  measure(name, startOrOptions = {}, endMark = undefined) {
    if (arguments.length === 0) throw missingArgs('name');
    const options = typeof startOrOptions === 'object' && startOrOptions !== null ? startOrOptions : { start: startOrOptions };
    const last = endMark ?? options.end;
    let end = last === undefined ? undefined : timeOf(last);
    let start = options.start === undefined ? undefined : timeOf(options.start);
    if (end === undefined) end = start !== undefined && options.duration !== undefined ? start + options.duration : now();
    if (start === undefined) start = options.duration !== undefined ? end - options.duration : 0;
    return record(new PerformanceMeasure(kMake, `${name}`, start, end - start, options.detail == null ? null : clone(options.detail)));
  }

  now() {
    return now();
  }

  setResourceTimingBufferSize() {}

  get timeOrigin() {
    return timeOrigin();
  }

  toJSON() {
    return { nodeTiming: this.nodeTiming, timeOrigin: this.timeOrigin, eventLoopUtilization: eventLoopUtilization() };
  }

  eventLoopUtilization() {
    return eventLoopUtilization();
  }

  timerify(fn, options) {
    return timerify(fn, options);
  }

  markResourceTiming() {}

  get nodeTiming() {
    return {
      name: 'node',
      entryType: 'node',
      startTime: 0,
      duration: now(),
      nodeStart: 0,
      v8Start: 0,
      bootstrapComplete: 0,
      environment: 0,
      loopStart: -1,
      loopExit: -1,
      idleTime: 0,
    };
  }

  [inspect.custom](depth, options) {
    if (depth < 0) return this;
    const inner = { ...options, depth: options.depth == null ? null : options.depth - 1 };
    return `Performance ${inspect({ nodeTiming: this.nodeTiming, timeOrigin: this.timeOrigin }, inner)}`;
  }
}
exposed(
  Performance.prototype,
  [
    'clearMarks',
    'clearMeasures',
    'clearResourceTimings',
    'getEntries',
    'getEntriesByName',
    'getEntriesByType',
    'mark',
    'measure',
    'now',
    'setResourceTimingBufferSize',
    'timeOrigin',
    'toJSON',
  ],
  'Performance',
);

export const performance = new Performance(kMake);

export const constants = Object.freeze({
  __proto__: null,
  NODE_PERFORMANCE_GC_MAJOR: 4,
  NODE_PERFORMANCE_GC_MINOR: 1,
  NODE_PERFORMANCE_GC_INCREMENTAL: 8,
  NODE_PERFORMANCE_GC_WEAKCB: 16,
  NODE_PERFORMANCE_GC_FLAGS_NO: 0,
  NODE_PERFORMANCE_GC_FLAGS_CONSTRUCT_RETAINED: 2,
  NODE_PERFORMANCE_GC_FLAGS_FORCED: 4,
  NODE_PERFORMANCE_GC_FLAGS_SYNCHRONOUS_PHANTOM_PROCESSING: 8,
  NODE_PERFORMANCE_GC_FLAGS_ALL_AVAILABLE_GARBAGE: 16,
  NODE_PERFORMANCE_GC_FLAGS_ALL_EXTERNAL_MEMORY: 32,
  NODE_PERFORMANCE_GC_FLAGS_SCHEDULE_IDLE: 64,
});
