// node:http: the network needs a grant, and none is given to this runtime.

import { invalidArgType, nodeError } from '../internal/errors.js';
import { CloseEvent, MessageEvent, WebSocket } from '../globals/network.js';
import { EventEmitter } from './events/emitter.js';
import { METHODS, STATUS_CODES } from './http/tables.js';
import { netGrant, refusedCall, refusedClass } from './refused.js';
import stream from './stream.js';

const { Readable, Stream } = stream;

export class Agent extends EventEmitter {
  constructor(options) {
    super();
    this.options = { __proto__: null, path: null, ...options };
    this.requests = { __proto__: null };
    this.sockets = { __proto__: null };
    this.freeSockets = { __proto__: null };
    this.keepAliveMsecs = options?.keepAliveMsecs ?? 1000;
    this.keepAlive = options?.keepAlive ?? false;
    this.maxSockets = options?.maxSockets ?? Infinity;
    this.maxFreeSockets = options?.maxFreeSockets ?? 256;
    this.scheduling = options?.scheduling ?? 'lifo';
    this.maxTotalSockets = options?.maxTotalSockets ?? Infinity;
    this.totalSocketCount = 0;
    this.defaultPort = 80;
    this.protocol = 'http:';
  }

  destroy() {}
}

const TOKEN = /^[\^_`a-zA-Z\-0-9!#$%&'*+.|~]+$/;

function validateHeaderName(name, label) {
  if (typeof name !== 'string' || !name || !TOKEN.test(name)) {
    throw nodeError(TypeError, 'ERR_INVALID_HTTP_TOKEN', `${label || 'Header name'} must be a valid HTTP token ["${name}"]`);
  }
}

function validateHeaderValue(name, value) {
  if (value === undefined) throw nodeError(TypeError, 'ERR_HTTP_INVALID_HEADER_VALUE', `Invalid value "${value}" for header "${name}"`);
  if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) throw nodeError(TypeError, 'ERR_INVALID_CHAR', `Invalid character in header content ["${name}"]`);
}

const grant = (target) => netGrant(target, 80);
const call = (name) => refusedCall('http', name, grant);

const http = {
  _connectionListener: refusedCall('http', '_connectionListener', 'net:HOST'),
  METHODS,
  STATUS_CODES,
  Agent,
  ClientRequest: refusedClass('http', 'ClientRequest', grant, Stream),
  IncomingMessage: refusedClass('http', 'IncomingMessage', 'net:HOST', Readable),
  OutgoingMessage: refusedClass('http', 'OutgoingMessage', 'net:HOST', Stream),
  Server: refusedClass('http', 'Server', 'net:HOST', EventEmitter),
  ServerResponse: refusedClass('http', 'ServerResponse', 'net:HOST', Stream),
  createServer: refusedCall('http', 'createServer', 'net:HOST'),
  validateHeaderName,
  validateHeaderValue,
  get: call('get'),
  request: call('request'),
  setMaxIdleHTTPParsers(max) {
    if (typeof max !== 'number') throw invalidArgType('max', 'number', max);
  },
  setGlobalProxyFromEnv: refusedCall('http', 'setGlobalProxyFromEnv', 'net:HOST'),
  maxHeaderSize: 16384,
  globalAgent: new Agent({ keepAlive: true, scheduling: 'lifo', timeout: 5000 }),
  WebSocket,
  CloseEvent,
  MessageEvent,
};

export default http;
