// The module `timers`.

import { clearImmediate, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } from '../internal/timers.js';
import promises from './timers/promises.js';
import util from './util.js';

const { custom } = util.promisify;
for (const [f, promised] of [[setTimeout, promises.setTimeout], [setImmediate, promises.setImmediate]]) {
  Object.defineProperty(f, custom, { get: () => promised, enumerable: true });
}

export default { setTimeout, clearTimeout, setImmediate, clearImmediate, setInterval, clearInterval, promises };
