// node:dns: names are looked up on the network, which needs a grant.

import { accessDenied } from '../internal/errors.js';
import { nextTick } from '../internal/task.js';
import { refusedClass, refusedCall } from './refused.js';
import promises from './dns/promises.js';
import { ERROR_CODES, getDefaultResultOrder, hostGrant, QUERIES, setDefaultResultOrder } from './dns/names.js';

/** Functions with a callback tell it why; without one they throw. */
const query = (name) =>
  ({
    [name](host, ...rest) {
      const callback = rest[rest.length - 1];
      const error = accessDenied(`dns.${name}`, hostGrant(host));
      if (typeof callback !== 'function') throw error;
      nextTick(callback, error);
    },
  })[name];

export default {
  lookup: query('lookup'),
  lookupService: query('lookupService'),
  Resolver: refusedClass('dns', 'Resolver', 'net:HOST'),
  getDefaultResultOrder,
  setDefaultResultOrder,
  setServers: refusedCall('dns', 'setServers', 'net:HOST'),
  ADDRCONFIG: 32,
  ALL: 16,
  V4MAPPED: 8,
  ...ERROR_CODES,
  getServers: () => [],
  ...Object.fromEntries(QUERIES.map((name) => [name, query(name)])),
  promises,
};
