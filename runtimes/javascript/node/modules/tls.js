// node:tls: the network needs a grant, and none is given to this runtime.

import { EventEmitter } from './events/emitter.js';
import stream from './stream.js';
import { calls, netGrant, refusedCall, refusedClass } from './refused.js';

export default {
  CLIENT_RENEG_LIMIT: 3,
  CLIENT_RENEG_WINDOW: 600,
  DEFAULT_CIPHERS: 'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256',
  DEFAULT_ECDH_CURVE: 'auto',
  DEFAULT_MIN_VERSION: 'TLSv1.2',
  DEFAULT_MAX_VERSION: 'TLSv1.3',
  getCiphers: () => ['tls_aes_128_gcm_sha256', 'tls_aes_256_gcm_sha384', 'tls_chacha20_poly1305_sha256'],
  getCertificateCompressionAlgorithms: () => [],
  rootCertificates: Object.freeze([]),
  ...calls(
    refusedCall,
    'tls',
    ['getCACertificates', 'setDefaultCACertificates', 'convertALPNProtocols', 'checkServerIdentity', 'createSecureContext'],
    'net:HOST',
  ),
  SecureContext: refusedClass('tls', 'SecureContext', 'net:HOST'),
  TLSSocket: refusedClass('tls', 'TLSSocket', 'net:HOST', stream.Duplex),
  Server: refusedClass('tls', 'Server', 'net:HOST', EventEmitter),
  createServer: refusedCall('tls', 'createServer', 'net:HOST'),
  connect: refusedCall('tls', 'connect', (target) => netGrant(target)),
};
