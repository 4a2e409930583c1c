// node:dgram: the network needs a grant, and none is given to this runtime.

import { EventEmitter } from './events/emitter.js';
import { refusedCall, refusedClass } from './refused.js';

export default {
  _createSocketHandle: refusedCall('dgram', '_createSocketHandle', 'net:HOST'),
  createSocket: refusedCall('dgram', 'createSocket', 'net:HOST'),
  Socket: refusedClass('dgram', 'Socket', 'net:HOST', EventEmitter),
};
