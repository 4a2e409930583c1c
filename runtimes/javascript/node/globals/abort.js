// AbortController and AbortSignal.

import { illegalConstructor, invalidArgType, invalidThis, missingArgs } from '../internal/errors.js';
import { validateUint32 } from '../internal/validators.js';
import { clearTimeout, setTimeout } from '../internal/timers.js';
import { defineEventHandler, Event, EventTarget, exposed, showEvent } from './event_target.js';
import { DOMException } from './dom_exception.js';

const customInspect = Symbol.for('nodejs.util.inspect.custom');
const kMake = Symbol('make');

const abortError = () => new DOMException('This operation was aborted', 'AbortError');

export class AbortSignal extends EventTarget {
  #aborted = false;
  #reason = undefined;
  #dependants = new Set();
  #timer;

  constructor(key) {
    if (key !== kMake) throw illegalConstructor();
    super();
  }

  static {
    this.trigger = (signal, reason) => signal.#abort(reason);
  }

  #abort(reason) {
    if (this.#aborted) return;
    const affected = [this];
    this.#aborted = true;
    this.#reason = reason;
    for (const dependant of this.#dependants) {
      if (dependant.#aborted) continue;
      dependant.#aborted = true;
      dependant.#reason = reason;
      affected.push(dependant);
    }
    for (const signal of affected) signal.dispatchEvent(new Event('abort'));
  }

  static abort(reason = abortError()) {
    const signal = new AbortSignal(kMake);
    signal.#aborted = true;
    signal.#reason = reason;
    return signal;
  }

  static timeout(delay) {
    if (arguments.length === 0) throw missingArgs('delay');
    validateUint32(delay, 'delay', false);
    const signal = new AbortSignal(kMake);
    signal.#timer = setTimeout(() => {
      clearTimeout(signal.#timer);
      signal.#abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
    }, delay);
    signal.#timer.unref();
    return signal;
  }

  static any(signals) {
    if (signals === null || typeof signals !== 'object' || typeof signals[Symbol.iterator] !== 'function') {
      throw invalidArgType('signals', 'Iterable', signals);
    }
    const list = [...signals];
    list.forEach((signal, index) => {
      if (!(signal instanceof AbortSignal)) throw invalidArgType(`signals[${index}]`, 'AbortSignal', signal);
    });
    const result = new AbortSignal(kMake);
    const fired = list.find((signal) => signal.#aborted);
    if (fired) {
      result.#aborted = true;
      result.#reason = fired.#reason;
      return result;
    }
    for (const signal of list) signal.#follow(result);
    return result;
  }

  #sources = new Set();

  #follow(dependant) {
    // A composite signal follows the sources of the signals it was made of, so that order of abort stays flat.
    const sources = this.#sources.size > 0 ? this.#sources : [this];
    for (const source of sources) {
      source.#dependants.add(dependant);
      dependant.#sources.add(source);
    }
  }

  get aborted() {
    if (!(#aborted in this)) throw invalidThis('AbortSignal');
    return this.#aborted;
  }

  get reason() {
    if (!(#aborted in this)) throw invalidThis('AbortSignal');
    return this.#reason;
  }

  throwIfAborted() {
    if (this.aborted) throw this.#reason;
  }

  [customInspect](depth, options) {
    return showEvent(this, { aborted: this.aborted }, depth, options, 'AbortSignal');
  }
}

const { trigger } = AbortSignal;
delete AbortSignal.trigger;
defineEventHandler(AbortSignal.prototype, 'abort');
exposed(AbortSignal.prototype, ['aborted'], 'AbortSignal');

export class AbortController {
  #signal;

  get signal() {
    if (!(#signal in this)) throw invalidThis('AbortController');
    return (this.#signal ??= new AbortSignal(kMake));
  }

  abort(reason = abortError()) {
    trigger(this.signal, reason);
  }

  [customInspect](depth, options) {
    return showEvent(this, { signal: this.signal }, depth, options, 'AbortController');
  }
}
exposed(AbortController.prototype, ['signal', 'abort'], 'AbortController');
