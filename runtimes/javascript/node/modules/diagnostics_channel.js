// node:diagnostics_channel.

import { invalidArgType } from '../internal/errors.js';
import { validateFunction } from '../internal/validators.js';
import { nextTick } from '../internal/task.js';

const channels = new Map();

class Channel {
  constructor(name) {
    this._subscribers = undefined;
    this._stores = undefined;
    this.name = name;
    channels.set(name, this);
  }

  get hasSubscribers() {
    return Boolean(this._subscribers?.length || this._stores?.size);
  }

  subscribe(subscription) {
    validateFunction(subscription, 'subscription');
    this._subscribers = [...(this._subscribers ?? []), subscription];
  }

  unsubscribe(subscription) {
    const position = this._subscribers?.indexOf(subscription) ?? -1;
    if (position === -1) return false;
    this._subscribers = this._subscribers.toSpliced(position, 1);
    return true;
  }

  bindStore(store, transform) {
    (this._stores ??= new Map()).set(store, transform);
  }

  unbindStore(store) {
    return this._stores?.delete(store) ?? false;
  }

  publish(data) {
    for (const subscriber of this._subscribers ?? []) {
      try {
        subscriber(data, this.name);
      } catch (error) {
        nextTick(() => {
          throw error;
        });
      }
    }
  }

  runStores(data, fn, thisArg, ...args) {
    let run = () => {
      this.publish(data);
      return Reflect.apply(fn, thisArg, args);
    };
    for (const [store, transform] of this._stores ?? []) {
      const inner = run;
      run = () => store.run(transform ? transform(data) : data, inner);
    }
    return run();
  }
}

function channel(name) {
  const known = channels.get(name);
  if (known) return known;
  if (typeof name !== 'string' && typeof name !== 'symbol') throw invalidArgType('channel', ['string', 'symbol'], name);
  return new Channel(name);
}

const EVENTS = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'];

class TracingChannel {
  constructor(nameOrChannels) {
    for (const event of EVENTS) {
      this[event] = typeof nameOrChannels === 'string' ? channel(`tracing:${nameOrChannels}:${event}`) : nameOrChannels[event];
      if (!(this[event] instanceof Channel)) throw invalidArgType('nameOrChannels', ['string', 'object', 'TracingChannel'], nameOrChannels);
    }
  }

  get hasSubscribers() {
    return EVENTS.some((event) => this[event].hasSubscribers);
  }

  subscribe(handlers) {
    for (const event of EVENTS) if (handlers[event]) this[event].subscribe(handlers[event]);
  }

  unsubscribe(handlers) {
    return EVENTS.filter((event) => handlers[event])
      .map((event) => this[event].unsubscribe(handlers[event]))
      .every(Boolean);
  }

  traceSync(fn, context = {}, thisArg, ...args) {
    return this.start.runStores(context, () => {
      try {
        const result = Reflect.apply(fn, thisArg, args);
        context.result = result;
        return result;
      } catch (error) {
        context.error = error;
        this.error.publish(context);
        throw error;
      } finally {
        this.end.publish(context);
      }
    });
  }

  tracePromise(fn, context = {}, thisArg, ...args) {
    const settle = (key, value, give) => {
      context[key] = value;
      if (key === 'error') this.error.publish(context);
      this.asyncStart.publish(context);
      this.asyncEnd.publish(context);
      return give(value);
    };
    return this.start.runStores(context, () => {
      try {
        return Promise.resolve(Reflect.apply(fn, thisArg, args)).then(
          (result) => settle('result', result, (value) => value),
          (error) => settle('error', error, (reason) => Promise.reject(reason)),
        );
      } catch (error) {
        context.error = error;
        this.error.publish(context);
        throw error;
      } finally {
        this.end.publish(context);
      }
    });
  }

  traceCallback(fn, position = -1, context = {}, thisArg, ...args) {
    const callback = args.at(position);
    validateFunction(callback, 'callback');
    const { asyncStart, asyncEnd, error: failed } = this;
    const wrapped = function (error, result) {
      if (error) {
        context.error = error;
        failed.publish(context);
      } else {
        context.result = result;
      }
      return asyncStart.runStores(context, () => {
        try {
          return Reflect.apply(callback, this, arguments);
        } finally {
          asyncEnd.publish(context);
        }
      });
    };
    args.splice(position, 1, wrapped);
    return this.start.runStores(context, () => {
      try {
        return Reflect.apply(fn, thisArg, args);
      } catch (error) {
        context.error = error;
        failed.publish(context);
        throw error;
      } finally {
        this.end.publish(context);
      }
    });
  }
}

export default {
  channel,
  hasSubscribers: (name) => channels.get(name)?.hasSubscribers ?? false,
  subscribe: (name, subscription) => channel(name).subscribe(subscription),
  tracingChannel: (nameOrChannels) => new TracingChannel(nameOrChannels),
  unsubscribe: (name, subscription) => channel(name).unsubscribe(subscription),
  Channel,
};
