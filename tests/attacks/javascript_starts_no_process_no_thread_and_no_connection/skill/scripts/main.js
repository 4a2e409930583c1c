const child = require('node:child_process');
const { promisify } = require('node:util');

async function attempt(what, act) {
  try {
    const value = await act();
    console.log(`${what}: ${JSON.stringify(value)}`);
  } catch (error) {
    console.log(`${what}: ${error.name} ${error.code}: ${error.message}`);
  }
}

const event = (emitter) => new Promise((done, fail) => emitter.on('error', fail).on('exit', done).on('connect', done).on('response', done));
const called = (f, ...all) => new Promise((done, fail) => f(...all, (error, value) => (error ? fail(error) : done(value))));

(async () => {
  if (process.argv[2] !== 'start') {
    await attempt('own id', () => process.pid > 0);
    await attempt('processors', () => require('node:os').availableParallelism());
    await attempt('main thread', () => require('node:worker_threads').isMainThread);
    await attempt('an address', () => require('node:net').isIP('127.0.0.1'));
    await attempt('a request', () => new Request('http://127.0.0.1/').url);
    return;
  }
  await attempt('execSync', () => child.execSync('id'));
  await attempt('execFileSync', () => child.execFileSync('/bin/id', ['-u']));
  await attempt('spawnSync', () => child.spawnSync('id').status);
  await attempt('exec', () => called(child.exec, 'id'));
  await attempt('a promise of exec', () => promisify(child.exec)('id'));
  await attempt('execFile', () => called(child.execFile, 'id'));
  await attempt('spawn', () => event(child.spawn('id')));
  await attempt('a shell', () => event(child.spawn('id', { shell: true })));
  await attempt('fork', () => event(child.fork(__filename)));
  await attempt('kill', () => process.kill(1, 'SIGKILL'));
  await attempt('abort', () => typeof process.abort);
  await attempt('worker', () => event(new (require('node:worker_threads').Worker)(__filename)));
  await attempt('cluster', () => require('node:cluster').fork());
  await attempt('connect', () => event(require('node:net').connect(80, '127.0.0.1')));
  await attempt('listen', () => require('node:net').createServer().listen(0));
  await attempt('http.get', () => event(require('node:http').get('http://127.0.0.1/')));
  await attempt('https.request', () => event(require('node:https').request('https://127.0.0.1/')));
  await attempt('http server', () => require('node:http').createServer().listen(0));
  await attempt('http2', () => event(require('node:http2').connect('https://127.0.0.1')));
  await attempt('tls', () => event(require('node:tls').connect(443, '127.0.0.1')));
  await attempt('datagrams', () => require('node:dgram').createSocket('udp4').bind());
  await attempt('lookup', () => require('node:dns').promises.lookup('localhost'));
  await attempt('resolve', () => called(require('node:dns').resolve4, 'localhost'));
  await attempt('fetch', () => fetch('http://127.0.0.1/').catch((error) => { throw error.cause; }));
  await attempt('WebSocket', () => new WebSocket('ws://127.0.0.1/').url);
  await attempt('EventSource', () => typeof EventSource);
})();
