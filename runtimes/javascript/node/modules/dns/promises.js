// node:dns/promises: names are looked up on the network, which needs a grant.

import { calls, refusedCall, refusedClass, refusedPromise } from '../refused.js';
import { ERROR_CODES, getDefaultResultOrder, hostGrant, QUERIES, setDefaultResultOrder } from './names.js';

export default {
  lookup: refusedPromise('dns.promises', 'lookup', hostGrant),
  lookupService: refusedPromise('dns.promises', 'lookupService', hostGrant),
  Resolver: refusedClass('dns.promises', 'Resolver', 'net:HOST'),
  getDefaultResultOrder,
  setDefaultResultOrder,
  setServers: refusedCall('dns.promises', 'setServers', 'net:HOST'),
  ...ERROR_CODES,
  getServers: () => [],
  ...calls(refusedPromise, 'dns.promises', QUERIES, hostGrant),
};
