// node:worker_threads: one thread only; messages between ports work within it.

import { notImplemented } from '../internal/errors.js';
import { BroadcastChannel, MessageChannel, MessagePort, receiveMessageOnPort } from '../globals/messages.js';
import { locks } from '../globals/locks.js';
import { EventEmitter } from './events/emitter.js';

const untransferable = new WeakSet();
const environment = new Map();

class Worker extends EventEmitter {
  constructor() {
    super();
    throw notImplemented('new worker_threads.Worker', 'the sandbox has one thread');
  }
}

export default {
  isInternalThread: false,
  isMainThread: true,
  MessagePort,
  MessageChannel,
  markAsUncloneable() {},
  markAsUntransferable(object) {
    if ((typeof object === 'object' && object !== null) || typeof object === 'function') untransferable.add(object);
  },
  isMarkedAsUntransferable: (object) => untransferable.has(object),
  moveMessagePortToContext() {
    throw notImplemented('worker_threads.moveMessagePortToContext', 'there is one context');
  },
  receiveMessageOnPort,
  resourceLimits: {},
  async postMessageToThread() {
    throw notImplemented('worker_threads.postMessageToThread', 'the sandbox has one thread');
  },
  threadId: 0,
  threadName: '',
  SHARE_ENV: Symbol.for('nodejs.worker_threads.SHARE_ENV'),
  Worker,
  parentPort: null,
  workerData: null,
  BroadcastChannel,
  setEnvironmentData(key, value) {
    if (value === undefined) environment.delete(key);
    else environment.set(key, value);
  },
  getEnvironmentData: (key) => environment.get(key),
  locks,
};
