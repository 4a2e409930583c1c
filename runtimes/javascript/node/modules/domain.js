// node:domain: given up long ago in Node, absent here.

import { absentCall, refusedClass } from './refused.js';
import { EventEmitter } from './events/emitter.js';

export default {
  _stack: [],
  Domain: refusedClass('domain', 'Domain', 'native', EventEmitter),
  createDomain: absentCall('domain', 'createDomain', 'use try and catch, or AsyncLocalStorage'),
  create: absentCall('domain', 'create', 'use try and catch, or AsyncLocalStorage'),
  active: null,
};
