// node:http2: the network needs a grant, and none is given to this runtime.

import stream from './stream.js';
import { calls, netGrant, refusedCall, refusedClass } from './refused.js';

export default {
  connect: refusedCall('http2', 'connect', (target) => netGrant(target)),
  constants: { __proto__: null },
  ...calls(
    refusedCall,
    'http2',
    ['createServer', 'createSecureServer', 'getDefaultSettings', 'getPackedSettings', 'getUnpackedSettings', 'performServerHandshake'],
    'net:HOST',
  ),
  sensitiveHeaders: Symbol('sensitiveHeaders'),
  Http2ServerRequest: refusedClass('http2', 'Http2ServerRequest', 'net:HOST', stream.Readable),
  Http2ServerResponse: refusedClass('http2', 'Http2ServerResponse', 'net:HOST', stream.Stream),
};
