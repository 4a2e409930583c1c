// What each of Node's public modules exports, and the globals, as JSON. In the sandbox also which of these
// are there in name only (`unusable`), and which modules ask for a grant when they are used (`grants`).
// Importing `domain` adds a name to `process`, so it comes last.
const names = `assert assert/strict async_hooks buffer child_process cluster console constants crypto dgram
diagnostics_channel dns dns/promises events fs fs/promises http http2 https inspector inspector/promises
module net os path path/posix path/win32 perf_hooks process punycode querystring readline readline/promises repl
sea sqlite stream stream/consumers stream/promises stream/web string_decoder sys test test/reporters timers
timers/promises tls trace_events tty url util util/types v8 vm wasi worker_threads zlib domain`.split(/\s+/);
// Calling these without arguments prints, ends the run, or starts it again.
const untried = { console: /./, module: /^runMain$/, process: /^(abort|exit|openStdin|reallyExit)$/ };
const uses = {
  child_process: (module) => module.execFileSync('true'),
  cluster: (module) => module.fork(),
  dgram: (module) => module.createSocket('udp4'),
  dns: (module) => module.promises.lookup('example.com'),
  'dns/promises': (module) => module.lookup('example.com'),
  http: (module) => module.get('http://example.com/'),
  http2: (module) => module.connect('http://example.com/'),
  https: (module) => module.get('https://example.com/'),
  net: (module) => module.connect(80, 'example.com'),
  tls: (module) => module.connect(443, 'example.com'),
};

/** How a call fails, if it does: what it throws, rejects with or emits. */
async function failure(call) {
  try {
    const made = await call();
    return typeof made?.once === 'function'
      ? await new Promise((resolve) => made.once('error', resolve).once('close', resolve))
      : undefined;
  } catch (error) {
    return error;
  }
}

const inSandbox = process.env.SKILLRUN_VERSION !== undefined;
if (inSandbox) process.on('unhandledRejection', () => {}).on('uncaughtException', () => {});
const modules = {};
const unusable = {};
const grants = {};
for (const name of names) {
  const module = await import(`node:${name}`).catch(() => null);
  modules[name] =
    module &&
    Object.keys(module)
      .filter((key) => !/^(_.*|default|module\.exports)$/.test(key))
      .sort();
  if (!module || !inSandbox) continue;
  if (uses[name]) grants[name] = (await failure(() => uses[name](module)))?.permission;
  for (const key of modules[name]) {
    const value = module[key];
    if (typeof value !== 'function' || untried[name]?.test(key)) continue;
    const errors = [await failure(() => void value()), await failure(() => void new value())];
    if (errors.some((error) => error?.code === 'ERR_METHOD_NOT_IMPLEMENTED')) (unusable[name] ??= []).push(key);
  }
}
process.stdout.write(
  `${JSON.stringify({ globals: Object.getOwnPropertyNames(globalThis).sort(), modules, unusable, grants }, null, 1)}\n`,
  () => process.exit(),
);
