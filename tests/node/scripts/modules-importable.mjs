// Modules for what needs a grant can be imported, and tell what they can without one.
import http from 'http';
import https from 'node:https';
import net, { isIP, isIPv4, isIPv6 } from 'net';
import child_process, { spawn, exec, execSync, execFile, execFileSync, spawnSync, fork } from 'child_process';
import worker_threads, { isMainThread, threadId, parentPort, workerData, Worker } from 'worker_threads';
import dns from 'dns';
import tls from 'tls';
import tty, { isatty } from 'tty';

console.log(
  [http.request, http.get, http.createServer, https.request, https.get, net.connect, net.createServer].map(
    (item) => typeof item,
  ),
);
console.log(
  [spawn, exec, execSync, execFile, execFileSync, spawnSync, fork, child_process.ChildProcess].map(
    (item) => typeof item,
  ),
);
console.log(
  http.STATUS_CODES[404],
  http.STATUS_CODES[200],
  http.METHODS.includes('PATCH'),
  typeof http.Agent,
  typeof http.IncomingMessage,
  http.maxHeaderSize > 0,
);
console.log(
  isIP('127.0.0.1'),
  isIP('::1'),
  isIP('x'),
  isIPv4('1.2.3.4'),
  isIPv4('1.2.3'),
  isIPv6('fe80::1'),
  isIPv6('1.2.3.4'),
);
console.log(isMainThread, threadId, parentPort, workerData, typeof Worker, typeof worker_threads.MessageChannel);
console.log(
  typeof dns.lookup,
  typeof dns.promises.lookup,
  typeof tls.connect,
  isatty(0),
  isatty(1),
  isatty(99),
  typeof tty.ReadStream,
);
console.log(typeof fetch, new Headers({ 'Content-Type': 'a', x: '1' }).get('content-type'), [
  ...new Headers([
    ['B', '1'],
    ['a', '2'],
    ['b', '3'],
  ]),
]);
console.log(
  new Request('https://a.b/c', { method: 'post', body: 'x' }).method,
  new Response('text', { status: 201 }).status,
  await new Response('{"a":1}').json(),
  Response.json({ b: 2 }).headers.get('content-type'),
);
const { promisify } = await import('util');
console.log(typeof promisify(exec), typeof promisify(execFile), exec[promisify.custom] === undefined);
