// navigator.locks, among the callers of the one thread there is.

import { validateFunction } from '../internal/validators.js';
import { illegalConstructor } from '../internal/errors.js';
import { DOMException } from './dom_exception.js';

const kMake = Symbol('make');

export class Lock {
  #name;
  #mode;

  constructor(key, name, mode) {
    if (key !== kMake) throw illegalConstructor();
    this.#name = name;
    this.#mode = mode;
  }

  get name() {
    return this.#name;
  }

  get mode() {
    return this.#mode;
  }
}

export class LockManager {
  #held = [];
  #waiting = [];

  constructor(key) {
    if (key !== kMake) throw illegalConstructor();
  }

  #isFree(name, mode) {
    const held = this.#held.filter((lock) => lock.name === name);
    return held.length === 0 || (mode === 'shared' && held.every((lock) => lock.mode === 'shared'));
  }

  async request(name, options, callback) {
    if (typeof options === 'function') [options, callback] = [{}, options];
    validateFunction(callback, 'callback');
    const { mode = 'exclusive', ifAvailable = false, signal } = options ?? {};
    name = `${name}`;
    signal?.throwIfAborted();
    const blocked = !this.#isFree(name, mode) || this.#waiting.some((entry) => entry.name === name);
    if (blocked && ifAvailable) return callback(null);
    if (blocked) {
      await new Promise((resolve, reject) => {
        const entry = { name, mode, resolve };
        this.#waiting.push(entry);
        signal?.addEventListener(
          'abort',
          () => {
            this.#waiting = this.#waiting.filter((each) => each !== entry);
            reject(signal.reason ?? new DOMException('The request was aborted', 'AbortError'));
          },
          { once: true },
        );
      });
    }
    const lock = new Lock(kMake, name, mode);
    this.#held.push(lock);
    try {
      return await callback(lock);
    } finally {
      this.#held = this.#held.filter((each) => each !== lock);
      this.#serve(name);
    }
  }

  #serve(name) {
    for (
      let next = this.#waiting.find((entry) => entry.name === name);
      next && this.#isFree(name, next.mode);
      next = this.#waiting.find((entry) => entry.name === name)
    ) {
      this.#waiting = this.#waiting.filter((each) => each !== next);
      next.resolve();
      if (next.mode === 'exclusive') return;
    }
  }

  async query() {
    const show = ({ name, mode }) => ({ name, mode, clientId: 'main' });
    return { held: this.#held.map(show), pending: this.#waiting.map(show) };
  }
}

export const locks = new LockManager(kMake);
