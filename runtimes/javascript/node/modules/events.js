// node:events.

import { EventEmitter } from './events/emitter.js';
import { EventEmitterAsyncResource } from './events/async_resource.js';
import { addAbortListener, getEventListeners, getMaxListeners, listenerCount, on, once, setMaxListeners } from './events/helpers.js';
import { kMaxEventTargetListeners, kMaxEventTargetListenersWarned } from '../globals/event_target.js';

EventEmitter.addAbortListener = addAbortListener;
EventEmitter.once = once;
EventEmitter.on = on;
EventEmitter.getEventListeners = getEventListeners;
EventEmitter.getMaxListeners = getMaxListeners;
EventEmitter.listenerCount = listenerCount;
EventEmitter.EventEmitter = EventEmitter;
EventEmitter.usingDomains = false;
EventEmitter.captureRejectionSymbol = Symbol.for('nodejs.rejection');
Object.defineProperty(EventEmitter, 'captureRejections', EventEmitter.captureRejectionsProperty);
delete EventEmitter.captureRejectionsProperty;
Object.defineProperty(EventEmitter, 'EventEmitterAsyncResource', {
  get: function lazyEventEmitterAsyncResource() {
    return EventEmitterAsyncResource;
  },
  enumerable: true,
  configurable: true,
});
EventEmitter.errorMonitor = EventEmitter.errorMonitorSymbol;
delete EventEmitter.errorMonitorSymbol;
Object.defineProperty(EventEmitter, 'defaultMaxListeners', EventEmitter.defaultMaxListenersProperty);
delete EventEmitter.defaultMaxListenersProperty;
Object.defineProperty(EventEmitter, 'kMaxEventTargetListeners', { value: kMaxEventTargetListeners });
Object.defineProperty(EventEmitter, 'kMaxEventTargetListenersWarned', { value: kMaxEventTargetListenersWarned });
EventEmitter.setMaxListeners = setMaxListeners;
const { init } = EventEmitter;
delete EventEmitter.init;
EventEmitter.init = init;

export { EventEmitter };
export default EventEmitter;
