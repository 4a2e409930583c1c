// MessageChannel, MessagePort, BroadcastChannel and MessageEvent, within the one thread there is.

import { illegalConstructor, invalidArgType, missingArgs } from '../internal/errors.js';
import { setImmediate } from '../internal/timers.js';
import { EventEmitter } from '../modules/events/emitter.js';
import { Event, EventTarget, defineEventHandler, exposed } from './event_target.js';
import { clone } from './structured_clone.js';
import { DOMException } from './dom_exception.js';

const kMake = Symbol('make');

export class MessageEvent extends Event {
  #data;
  #origin;
  #lastEventId;
  #source;
  #ports;

  constructor(type, { data = null, origin = '', lastEventId = '', source = null, ports = [] } = {}) {
    super(type);
    this.#data = data;
    this.#origin = `${origin}`;
    this.#lastEventId = `${lastEventId}`;
    this.#source = source;
    this.#ports = ports;
  }

  get data() {
    return this.#data;
  }

  get origin() {
    return this.#origin;
  }

  get lastEventId() {
    return this.#lastEventId;
  }

  get source() {
    return this.#source;
  }

  get ports() {
    return this.#ports;
  }
}
exposed(MessageEvent.prototype, ['data', 'origin', 'lastEventId', 'source', 'ports'], 'MessageEvent');

/** A port is an event target that also has an emitter's `on` and `once`, as in Node. */
export class MessagePort extends EventTarget {
  #other = null;
  #queue = [];
  #started = false;
  #closed = false;
  #pending = null;
  #emitter = new EventEmitter();

  constructor(key) {
    if (key !== kMake) throw illegalConstructor();
    super();
  }

  static pair() {
    const first = new MessagePort(kMake);
    const second = new MessagePort(kMake);
    first.#other = second;
    second.#other = first;
    return [first, second];
  }

  static take(port) {
    return port.#queue.length > 0 ? { message: port.#queue.shift() } : undefined;
  }

  postMessage(message, options) {
    if (arguments.length === 0) throw missingArgs('message');
    const transfer = Array.isArray(options) ? options : (options?.transfer ?? []);
    const copy = clone(message, transfer);
    if (this.#other === null || this.#other.#closed) return;
    this.#other.#queue.push(copy);
    this.#other.#wake();
  }

  // Waiting messages keep the run alive; an open port without any does not.
  #wake() {
    if (!this.#started || this.#pending !== null || this.#queue.length === 0) return;
    this.#pending = setImmediate(() => {
      this.#pending = null;
      const messages = this.#queue.splice(0);
      for (const data of messages) {
        if (this.#closed) return;
        this.dispatchEvent(new MessageEvent('message', { data }));
        this.#emitter.emit('message', data);
      }
      this.#wake();
    });
  }

  start() {
    this.#started = true;
    this.#wake();
  }

  close() {
    if (this.#closed) return;
    const other = this.#other;
    this.#closed = true;
    setImmediate(() => {
      this.dispatchEvent(new Event('close'));
      this.#emitter.emit('close');
      other?.close();
    });
  }

  ref() {
    return this;
  }

  unref() {
    return this;
  }

  hasRef() {
    return this.#started && !this.#closed;
  }

  on(name, listener) {
    this.#emitter.on(name, listener);
    if (name === 'message') this.start();
    return this;
  }

  once(name, listener) {
    this.#emitter.once(name, listener);
    if (name === 'message') this.start();
    return this;
  }

  off(name, listener) {
    this.#emitter.off(name, listener);
    return this;
  }
}
const { pair, take } = MessagePort;
delete MessagePort.pair;
delete MessagePort.take;
Object.assign(MessagePort.prototype, { addListener: MessagePort.prototype.on, removeListener: MessagePort.prototype.off });
defineEventHandler(MessagePort.prototype, 'message');
defineEventHandler(MessagePort.prototype, 'messageerror');
const { set: setOnMessage, get: getOnMessage } = Object.getOwnPropertyDescriptor(MessagePort.prototype, 'onmessage');
Object.defineProperty(MessagePort.prototype, 'onmessage', {
  get: getOnMessage,
  set(listener) {
    setOnMessage.call(this, listener);
    this.start();
  },
  enumerable: true,
  configurable: true,
});
exposed(MessagePort.prototype, ['postMessage', 'start', 'close', 'ref', 'unref', 'hasRef'], 'MessagePort');

export class MessageChannel {
  constructor() {
    [this.port1, this.port2] = pair();
  }
}

export function receiveMessageOnPort(port) {
  if (!(port instanceof MessagePort)) throw invalidArgType('port', 'MessagePort', port);
  return take(port);
}

const channels = new Map();

export class BroadcastChannel extends EventTarget {
  #name;
  #closed = false;

  constructor(name) {
    if (arguments.length === 0) throw missingArgs('name');
    super();
    this.#name = `${name}`;
    if (!channels.has(this.#name)) channels.set(this.#name, new Set());
    channels.get(this.#name).add(this);
  }

  get name() {
    return this.#name;
  }

  postMessage(message) {
    if (arguments.length === 0) throw missingArgs('message');
    if (this.#closed) throw new DOMException('BroadcastChannel is closed.', 'InvalidStateError');
    for (const channel of channels.get(this.#name)) {
      if (channel === this) continue;
      const data = clone(message);
      setImmediate(() => {
        if (!channel.#closed) channel.dispatchEvent(new MessageEvent('message', { data }));
      });
    }
  }

  close() {
    this.#closed = true;
    channels.get(this.#name)?.delete(this);
  }

  ref() {
    return this;
  }

  unref() {
    return this;
  }
}
defineEventHandler(BroadcastChannel.prototype, 'message');
defineEventHandler(BroadcastChannel.prototype, 'messageerror');
exposed(BroadcastChannel.prototype, ['name', 'postMessage', 'close', 'ref', 'unref'], 'BroadcastChannel');
