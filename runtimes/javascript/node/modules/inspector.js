// node:inspector: there is no debugger to speak to.

import console from './console.js';
import { EventEmitter } from './events/emitter.js';
import { absentCall } from './refused.js';

const reason = 'there is no debugger in the sandbox';

class Session extends EventEmitter {
  connect() {
    absentCall('inspector', 'Session.connect', reason)();
  }

  connectToMainThread() {
    this.connect();
  }

  disconnect() {}

  post() {
    absentCall('inspector', 'Session.post', reason)();
  }
}

const silent = (...names) => Object.fromEntries(names.map((name) => [name, { [name]() {} }[name]]));

export default {
  open: absentCall('inspector', 'open', reason),
  close() {},
  url: () => undefined,
  waitForDebugger: absentCall('inspector', 'waitForDebugger', reason),
  console,
  Session,
  Network: silent('requestWillBeSent', 'responseReceived', 'loadingFinished', 'loadingFailed', 'dataSent', 'dataReceived'),
  NetworkResources: silent('put'),
  DOMStorage: silent('domStorageItemAdded', 'domStorageItemRemoved', 'domStorageItemUpdated', 'domStorageItemsCleared', 'registerStorage'),
};
