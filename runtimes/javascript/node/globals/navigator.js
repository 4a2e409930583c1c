// navigator.

import { illegalConstructor } from '../internal/errors.js';
import process from '../modules/process.js';
import { exposed } from './event_target.js';
import { locks } from './locks.js';

const kMake = Symbol('make');

export class Navigator {
  constructor(key) {
    if (key !== kMake) throw illegalConstructor();
  }

  get hardwareConcurrency() {
    return 1;
  }

  get language() {
    return 'en-US';
  }

  get languages() {
    return Object.freeze(['en-US']);
  }

  get userAgent() {
    return `Node.js/${process.version.slice(1).split('.')[0]}`;
  }

  get platform() {
    return process.platform;
  }

  get locks() {
    return locks;
  }
}
exposed(Navigator.prototype, ['hardwareConcurrency', 'language', 'languages', 'userAgent', 'platform', 'locks'], 'Navigator');

export const navigator = new Navigator(kMake);
