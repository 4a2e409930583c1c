// The names that each of Node's public modules exports, the globals, and the modules that ask for a grant, as JSON.
const names = `assert assert/strict async_hooks buffer child_process cluster console constants crypto dgram
diagnostics_channel dns dns/promises domain events fs fs/promises http http2 https inspector inspector/promises
module net os path path/posix path/win32 perf_hooks process punycode querystring readline readline/promises repl
sea sqlite stream stream/consumers stream/promises stream/web string_decoder sys test test/reporters timers
timers/promises tls trace_events tty url util util/types v8 vm wasi worker_threads zlib`.split(/\s+/);

// One real use of each module whose use needs a grant: a value, a promise, or something that emits.
const uses = {
  child_process: (module) => module.execFileSync('true'),
  dns: (module) => module.promises.lookup('127.0.0.1'),
  'dns/promises': (module) => module.lookup('127.0.0.1'),
  http: (module) => module.get('http://127.0.0.1:1/'),
  http2: (module) => module.connect('http://127.0.0.1:1/'),
  https: (module) => module.get('https://127.0.0.1:1/'),
  net: (module) => module.connect(1, '127.0.0.1'),
  tls: (module) => module.connect(1, '127.0.0.1'),
  worker_threads: (module) => new module.Worker('1', { eval: true }),
};
const end = (made) => (typeof made?.on === 'function' ? new Promise((resolve, reject) => made.on('error', reject).on('close', resolve).on('exit', resolve)) : made);

const modules = {};
const grants = {};
for (const name of names) {
  try {
    const module = await import(`node:${name}`);
    modules[name] = Object.keys(module).filter((key) => key !== 'default' && key !== 'module.exports').sort();
    if (uses[name]) await end(uses[name](module));
  } catch (error) {
    if (error.code === 'ERR_ACCESS_DENIED') grants[name] = error.permission;
    modules[name] ??= null;
  }
}
console.log(JSON.stringify({ globals: Object.getOwnPropertyNames(globalThis).sort(), modules, grants }, null, 1));
