// node:https: the network needs a grant, and none is given to this runtime.

import { EventEmitter } from './events/emitter.js';
import { Agent as HttpAgent } from './http.js';
import { netGrant, refusedCall, refusedClass } from './refused.js';

class Agent extends HttpAgent {
  constructor(options) {
    super(options);
    this.defaultPort = 443;
    this.protocol = 'https:';
    this.maxCachedSessions = options?.maxCachedSessions ?? 100;
  }
}

const grant = (target) => netGrant(target, 443);

export default {
  Agent,
  globalAgent: new Agent({ keepAlive: true, scheduling: 'lifo', timeout: 5000 }),
  Server: refusedClass('https', 'Server', 'net:HOST', EventEmitter),
  createServer: refusedCall('https', 'createServer', 'net:HOST'),
  get: refusedCall('https', 'get', grant),
  request: refusedCall('https', 'request', grant),
};
