// node:cluster: other processes need a grant, and none is given to this runtime.

import { EventEmitter } from './events/emitter.js';
import { calls, refusedCall, refusedClass } from './refused.js';

export default Object.assign(new EventEmitter(), {
  isWorker: false,
  isMaster: true,
  isPrimary: true,
  Worker: refusedClass('cluster', 'Worker', 'run:node', EventEmitter),
  workers: {},
  settings: {},
  SCHED_NONE: 1,
  SCHED_RR: 2,
  schedulingPolicy: 2,
  ...calls(refusedCall, 'cluster', ['setupPrimary', 'setupMaster', 'fork'], 'run:node'),
  disconnect(callback) {
    callback?.();
  },
});
