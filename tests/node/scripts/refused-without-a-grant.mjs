// What each module answers when it is really used: a code, a message, at once or later.
import child_process from 'child_process';
import http from 'http';
import https from 'https';
import net from 'net';
import dns from 'dns';
import { Worker } from 'worker_threads';
import { promisify } from 'util';

const attempt = async (name, action) => {
  try {
    await action();
    console.log(`${name}: works`);
  } catch (error) {
    const { code, permission } = error.code ? error : (error.cause ?? {});
    console.log([`${name}:`, code, permission].join(' ').trimEnd());
  }
};
const event = (emitter, good) => new Promise((resolve, reject) => emitter.on('error', reject).on(good, resolve));
await attempt('execSync', () => child_process.execSync('true'));
await attempt('execFileSync', () => child_process.execFileSync('true'));
await attempt('spawnSync', () => {
  const { error } = child_process.spawnSync('true');
  if (error) throw error;
});
await attempt('spawn', () => event(child_process.spawn('true'), 'close'));
await attempt('exec', () => promisify(child_process.exec)('true'));
await attempt('execFile', () => promisify(child_process.execFile)('true'));
await attempt('http.get', () => event(http.get('http://127.0.0.1:1/'), 'response'));
await attempt('https.request', () => event(https.request('https://127.0.0.1:1/').end(), 'response'));
await attempt('net.connect', () => event(net.connect(1, '127.0.0.1'), 'connect'));
await attempt('fetch', () => fetch('http://127.0.0.1:65530/'));
await attempt('dns.lookup', () => promisify(dns.lookup)('127.0.0.1'));
await attempt('Worker', () => event(new Worker('1', { eval: true }), 'exit'));
