// `process`.

import { binding } from './binding.js';
import { atStart } from './start.js';
import { EventEmitter } from '../modules/events.js';
import { VERSION } from './version.js';
import { signals } from '../modules/os/constants.js';
import { env } from './env.js';
import { beginIn, changeTo, getCwd } from './cwd.js';
import { nextTick, stopTicks } from './task.js';
import { hasCapture, setCapture, useProcess } from './fatal.js';
import { makeEmitWarning } from './warnings.js';
import { uvException } from './uv.js';
import { invalidArgType, invalidArgValue, nodeError, notImplemented, outOfRange } from './errors.js';
import { validateArray, validateInteger, validateNumber, validateObject, validateString, validateUint32 } from './validators.js';

const { defineProperty } = Object;
// The ids that file owners have as well; see fs/stats.js.
export const USER = 1000;
const PID = 1;
const SIGNALS = Object.keys(signals);

function Process() {}
defineProperty(Process, 'name', { value: 'process' });
Process.prototype = Object.create(EventEmitter.prototype, {
  constructor: { value: Process, writable: true, configurable: true },
  [Symbol.toStringTag]: { value: 'process', configurable: true },
});
export const process = new Process();
EventEmitter.call(process);

let started = 0;
let origin = 0n;
atStart(() => {
  started = binding.now();
  origin = binding.hrtime();
});

Object.assign(process, {
  version: `v${VERSION}`,
  versions: Object.freeze({
    node: VERSION, modules: '137', napi: '10', quickjs: '0.18.0', unicode: '17.0', uv: '1.52.1', v8: '13.6.233.17-node.51', zlib: '1.3.2.1',
  }),
  arch: 'x64',
  platform: 'linux',
  release: { name: 'node', lts: 'Krypton' },
  features: Object.freeze({
    inspector: false, debug: false, uv: true, ipv6: true, tls_alpn: true, tls_sni: true, tls_ocsp: true, tls: true,
    cached_builtins: true, require_module: true, typescript: 'transform',
  }),
  moduleLoadList: [],
  config: Object.freeze({ target_defaults: Object.freeze({}), variables: Object.freeze({ napi_build_version: '10' }) }),
  title: 'node',
  argv: [],
  execArgv: [],
  argv0: 'node',
  execPath: '/usr/bin/node',
  pid: PID,
  ppid: 0,
  debugPort: 9229,
  env,
  domain: null,
  _exiting: false,
  allowedNodeEnvironmentFlags: new Set(),
  report: undefined,
  nextTick,
});
// They read as data and cannot be written, as Node has them.
for (const name of ['version', 'versions', 'arch', 'platform', 'release', 'features']) defineProperty(process, name, { writable: false });

/** Adds a method to `process`. */
export function method(name, f) {
  defineProperty(f, 'name', { value: name });
  defineProperty(process, name, { value: f, writable: true, enumerable: true, configurable: true });
}

method('cwd', () => getCwd());
method('chdir', (directory) => {
  validateString(directory, 'directory');
  if (directory.includes('\0')) throw invalidArgValue('directory', directory, 'must be a string without null bytes');
  const result = changeTo(directory);
  if (result < 0) {
    const error = uvException(result, 'chdir', getCwd(), directory);
    throw error;
  }
});

let mask = 0o022;
method('umask', (value) => {
  const old = mask;
  if (value !== undefined) {
    if (typeof value === 'string') {
      if (!/^[0-7]+$/.test(value)) throw invalidArgValue('mask', value, 'must be a 32-bit unsigned integer or an octal string');
      value = parseInt(value, 8);
    }
    validateUint32(value, 'mask');
    mask = value & 0o777;
  }
  return old;
});

let exitCode;
function checkCode(value) {
  if (value === null || value === undefined) return;
  let code = value;
  if (typeof code === 'string' && code !== '' && !Number.isNaN(Number(code))) code = Number(code);
  validateInteger(code, 'code');
}
defineProperty(process, 'exitCode', {
  get: () => exitCode,
  set(value) {
    checkCode(value);
    exitCode = value ?? undefined;
  },
  enumerable: true,
  configurable: false,
});

/** The exit code as the host takes it. */
export const finalCode = () => Number(exitCode ?? 0) & 0xff;

export function leave(code) {
  exitCode = code;
  if (!process._exiting) {
    process._exiting = true;
    process.emit('exit', code);
  }
  stopTicks();
  binding.exit(finalCode());
}
useProcess(process, leave);

method('exit', function exit(code) {
  if (arguments.length !== 0) process.exitCode = code;
  if (!process._exiting) {
    process._exiting = true;
    process.emit('exit', Number(exitCode ?? 0));
  }
  stopTicks();
  process.reallyExit(finalCode());
});
method('reallyExit', (code) => binding.exit(Number(code) & 0xff));
method('abort', () => binding.exit(134));

const NANOSECONDS = 1000000000n;
method('hrtime', (time) => {
  const now = binding.hrtime();
  const seconds = Number(now / NANOSECONDS);
  const nanoseconds = Number(now % NANOSECONDS);
  if (time === undefined) return [seconds, nanoseconds];
  validateArray(time, 'time');
  if (time.length !== 2) throw outOfRange('time', '2', time.length);
  const s = seconds - time[0];
  const n = nanoseconds - time[1];
  return n < 0 ? [s - 1, n + 1e9] : [s, n];
});
process.hrtime.bigint = function bigint() {
  return binding.hrtime();
};
method('uptime', () => Number(binding.hrtime() - origin) / 1e9);

method('memoryUsage', () => {
  const [total, used] = binding.memoryUsage();
  return { rss: total, heapTotal: total, heapUsed: used, external: 0, arrayBuffers: 0 };
});
process.memoryUsage.rss = function rss() {
  return binding.memoryUsage()[0];
};
method('constrainedMemory', () => 0);
method('availableMemory', () => 2 ** 32 - binding.memoryUsage()[0]);

method('cpuUsage', (previous) => {
  if (previous !== undefined) {
    validateObject(previous, 'prevValue');
    validateNumber(previous.user, 'prevValue.user');
    validateNumber(previous.system, 'prevValue.system');
  }
  // There is no clock of the processor's time here; a script that does not wait uses all of the time there is.
  const user = Math.round((binding.now() - started) * 1000) - (previous?.user ?? 0);
  return { user: Math.max(user, 0), system: 0 };
});
method('threadCpuUsage', (previous) => process.cpuUsage(previous));
method('resourceUsage', () => ({
  userCPUTime: process.cpuUsage().user, systemCPUTime: 0, maxRSS: Math.round(binding.memoryUsage()[0] / 1024), sharedMemorySize: 0,
  unsharedDataSize: 0, unsharedStackSize: 0, minorPageFault: 0, majorPageFault: 0, swappedOut: 0, fsRead: 0, fsWrite: 0, ipcSent: 0,
  ipcReceived: 0, signalsCount: 0, voluntaryContextSwitches: 0, involuntaryContextSwitches: 0,
}));

for (const name of ['getuid', 'geteuid', 'getgid', 'getegid']) method(name, () => USER);
method('getgroups', () => [USER]);
for (const name of ['setuid', 'seteuid', 'setgid', 'setegid', 'setgroups', 'initgroups']) {
  method(name, () => {
    throw uvException(-1, name);
  });
}

method('kill', (pid, signal) => {
  if (typeof pid !== 'number' || pid !== (pid | 0)) throw invalidArgType('pid', 'number', pid);
  const own = pid === PID || pid === 0;
  if (typeof signal === 'string' && !SIGNALS.includes(signal)) throw nodeError(TypeError, 'ERR_UNKNOWN_SIGNAL', `Unknown signal: ${signal}`);
  if (signal === 0 && own) return true;
  if (!own) throw uvException(-3, 'kill');
  throw notImplemented('process.kill', 'there are no signals');
});

method('emitWarning', makeEmitWarning(process));
method('setUncaughtExceptionCaptureCallback', (f) => {
  if (f === null) {
    setCapture(null);
    return;
  }
  if (typeof f !== 'function') throw invalidArgType('fn', ['Function', 'null'], f);
  if (hasCapture()) {
    throw nodeError(Error, 'ERR_UNCAUGHT_EXCEPTION_CAPTURE_ALREADY_SET',
      '`process.setupUncaughtExceptionCapture()` was called while a capture callback was already active');
  }
  setCapture(f);
});
method('hasUncaughtExceptionCaptureCallback', () => hasCapture());

const noBinding = (name) => nodeError(Error, 'ERR_INVALID_MODULE', `No such binding: ${name}`);
method('binding', (name) => { throw noBinding(name); });
method('_linkedBinding', (name) => { throw noBinding(name); });
method('dlopen', () => { throw nodeError(Error, 'ERR_DLOPEN_FAILED', 'native addons cannot be loaded in the sandbox'); });
method('execve', () => { throw notImplemented('process.execve', 'there are no processes'); });
method('getActiveResourcesInfo', () => []);
method('_getActiveHandles', () => []);
method('_getActiveRequests', () => []);
method('setSourceMapsEnabled', (value) => { process.sourceMapsEnabled = Boolean(value); });
process.sourceMapsEnabled = false;
method('ref', () => {});
method('unref', () => {});
method('openStdin', () => {
  process.stdin.resume();
  return process.stdin;
});
for (const name of ['_debugEnd', '_debugProcess', '_startProfilerIdleNotifier', '_stopProfilerIdleNotifier', '_tickCallback', '_fatalException']) method(name, () => {});
method('_kill', (pid, signal) => process.kill(pid, signal));
process._preload_modules = [];
method('_rawDebug', (...args) => { binding.writeText(2, `${args.join(' ')}\n`); });
process.finalization = Object.freeze({ register() {}, registerBeforeExit() {}, unregister() {} });

/** At the start of a run. */
export function begin(script, args, cwd) {
  beginIn(cwd);
  process.argv = [process.execPath, script];
  for (let i = 0; i < args.length; i++) process.argv[i + 2] = args[i];
}

