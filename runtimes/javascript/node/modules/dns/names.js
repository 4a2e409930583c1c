// What the two forms of node:dns have in common.

import { validateOneOf } from '../../internal/validators.js';

export const QUERIES = [
  'resolve',
  'resolve4',
  'resolve6',
  'resolveAny',
  'resolveCaa',
  'resolveCname',
  'resolveMx',
  'resolveNaptr',
  'resolveNs',
  'resolvePtr',
  'resolveSoa',
  'resolveSrv',
  'resolveTlsa',
  'resolveTxt',
  'reverse',
];

const NAMES = [
  'NODATA',
  'FORMERR',
  'SERVFAIL',
  'NOTFOUND',
  'NOTIMP',
  'REFUSED',
  'BADQUERY',
  'BADNAME',
  'BADFAMILY',
  'BADRESP',
  'CONNREFUSED',
  'TIMEOUT',
  'EOF',
  'FILE',
  'NOMEM',
  'DESTRUCTION',
  'BADSTR',
  'BADFLAGS',
  'NONAME',
  'BADHINTS',
  'NOTINITIALIZED',
  'LOADIPHLPAPI',
  'ADDRGETNETWORKPARAMS',
  'CANCELLED',
];
export const ERROR_CODES = Object.fromEntries(NAMES.map((name) => [name, name === 'EOF' ? 'EOF' : `E${name}`]));

let order = 'verbatim';
export const getDefaultResultOrder = () => order;
export function setDefaultResultOrder(value) {
  validateOneOf(value, 'dnsOrder', ['verbatim', 'ipv4first', 'ipv6first']);
  order = value;
}

export const hostGrant = (host) => `net:${typeof host === 'string' && host ? host : 'HOST'}`;
