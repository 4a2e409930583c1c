// node:net: addresses can be told apart; connections need a grant, and none is given to this runtime.

import { validateBoolean, validateInt32 } from '../internal/validators.js';
import { EventEmitter } from './events/emitter.js';
import stream from './stream.js';
import { refusedCall, refusedClass } from './refused.js';

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)$/;

export function isIPv4(input) {
  return IPV4.test(`${input}`);
}

export function isIPv6(input) {
  const [address, zone, more] = `${input}`.split('%');
  if (more !== undefined || (zone !== undefined && !/^[0-9a-zA-Z.:_-]+$/.test(zone))) return false;
  let text = address;
  if (text.includes('.')) {
    // The last four bytes may be written as an IPv4 address.
    const colon = text.lastIndexOf(':');
    if (colon === -1 || !isIPv4(text.slice(colon + 1))) return false;
    text = `${text.slice(0, colon)}:0:0`;
  }
  const halves = text.split('::');
  if (halves.length > 2) return false;
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')));
  if (!groups.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return false;
  return halves.length === 2 ? groups.length < 8 : groups.length === 8;
}

export function isIP(input) {
  return isIPv4(input) ? 4 : isIPv6(input) ? 6 : 0;
}

function netTarget(first, second) {
  const { host, port } = typeof first === 'object' && first ? first : { host: second, port: first };
  if (!port) return `net:${typeof host === 'string' ? host : 'HOST'}`;
  return `net:${typeof host === 'string' ? host : 'localhost'}:${port}`;
}

let autoSelect = true;
let attemptTimeout = 250;

const Socket = refusedClass('net', 'Socket', netTarget, stream.Duplex);

const net = {
  _createServerHandle: refusedCall('net', '_createServerHandle', 'net:HOST'),
  _normalizeArgs: refusedCall('net', '_normalizeArgs', 'net:HOST'),
  BlockList: refusedClass('net', 'BlockList', 'net:HOST'),
  SocketAddress: refusedClass('net', 'SocketAddress', 'net:HOST'),
  BoundSocket: refusedClass('net', 'BoundSocket', 'net:HOST'),
  connect: refusedCall('net', 'connect', netTarget),
  createConnection: refusedCall('net', 'createConnection', netTarget),
  createServer: refusedCall('net', 'createServer', 'net:HOST'),
  isIP,
  isIPv4,
  isIPv6,
  Server: refusedClass('net', 'Server', 'net:HOST', EventEmitter),
  Socket,
  Stream: Socket,
  getDefaultAutoSelectFamily: () => autoSelect,
  setDefaultAutoSelectFamily(value) {
    validateBoolean(value, 'value');
    autoSelect = value;
  },
  getDefaultAutoSelectFamilyAttemptTimeout: () => attemptTimeout,
  setDefaultAutoSelectFamilyAttemptTimeout(value) {
    validateInt32(value, 'value', 1);
    attemptTimeout = Math.max(value, 10);
  },
};

export default net;
