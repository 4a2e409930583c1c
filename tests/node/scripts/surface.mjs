// The names that each of Node's public modules exports, and the globals, as JSON.
const modules = `assert assert/strict async_hooks buffer child_process cluster console constants crypto dgram
diagnostics_channel dns dns/promises domain events fs fs/promises http http2 https inspector inspector/promises
module net os path path/posix path/win32 perf_hooks process punycode querystring readline readline/promises repl
sea sqlite stream stream/consumers stream/promises stream/web string_decoder sys test test/reporters timers
timers/promises tls trace_events tty url util util/types v8 vm wasi worker_threads zlib`.split(/\s+/);

const surface = { globals: Object.getOwnPropertyNames(globalThis).sort() };
for (const name of modules) {
  try {
    const names = Object.keys(await import(`node:${name}`));
    surface[name] = names.filter((key) => key !== 'default' && key !== 'module.exports').sort();
  } catch {
    surface[name] = null;
  }
}
console.log(JSON.stringify(surface, null, 1));
