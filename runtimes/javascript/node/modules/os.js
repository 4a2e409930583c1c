// node:os. The sandbox is a small Linux machine of its own: what the host is like cannot be seen from here.

import { binding } from '../internal/binding.js';
import { nodeError } from '../internal/errors.js';
import { validateInt32, validateObject } from '../internal/validators.js';
import { asBuffer } from './buffer/buffer.js';
import process from './process.js';
import { dlopen, errno, priority, signals, UV_UDP_REUSEADDR } from './os/constants.js';

// All that 32-bit memory can hold; the limit of a run is the host's and may be less.
const ADDRESS_SPACE = 4 * 1024 ** 3;

const arch = () => process.arch;
const availableParallelism = () => 1;
const cpus = () => [{ model: 'wasm', speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } }];
const endianness = () => 'LE';
const freemem = () => ADDRESS_SPACE - binding.memoryUsage()[0];
const hostname = () => 'localhost';
const loadavg = () => [0, 0, 0];
const networkInterfaces = () => ({});
const platform = () => process.platform;
const release = () => '6.1.0';
const totalmem = () => ADDRESS_SPACE;
const type = () => 'Linux';
// The machine's own is not told; a script sees at least a hundredth of a second.
const uptime = () => Math.max(1, Math.round(Number(binding.hrtime() / 10_000_000n))) / 100;
const version = () => '#1 SMP';
const machine = () => 'x86_64';

function homedir() {
  return process.env.HOME ?? '/';
}

function tmpdir() {
  const { TMPDIR, TMP, TEMP } = process.env;
  const path = TMPDIR || TMP || TEMP || '/tmp';
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

function userInfo(options) {
  if (options !== undefined && options !== null) validateObject(options, 'options');
  const text = options?.encoding === 'buffer' ? (value) => asBuffer(binding.utf8Encode(value)) : (value) => value;
  return {
    uid: process.getuid?.() ?? 1000,
    gid: process.getgid?.() ?? 1000,
    username: text(process.env.USER ?? process.env.LOGNAME ?? 'sandbox'),
    homedir: text(homedir()),
    shell: process.env.SHELL ? text(process.env.SHELL) : null,
  };
}

function getPriority(pid = 0) {
  validateInt32(pid, 'pid');
  return 0;
}

function setPriority(pid, value) {
  if (value === undefined) [pid, value] = [0, pid];
  validateInt32(pid, 'pid');
  validateInt32(value, 'priority', -20, 19);
  throw nodeError(Error, 'ERR_SYSTEM_ERROR', 'A system error occurred: uv_os_setpriority returned EACCES (permission denied)');
}

const constants = Object.freeze({
  __proto__: null,
  UV_UDP_REUSEADDR,
  dlopen: Object.freeze(dlopen),
  errno: Object.freeze(errno),
  signals: Object.freeze(signals),
  priority: Object.freeze(priority),
});

const os = {
  arch,
  availableParallelism,
  cpus,
  endianness,
  freemem,
  getPriority,
  homedir,
  hostname,
  loadavg,
  networkInterfaces,
  platform,
  release,
  setPriority,
  tmpdir,
  totalmem,
  type,
  userInfo,
  uptime,
  version,
  machine,
  constants,
  EOL: '\n',
  devNull: '/dev/null',
};

// Functions that answer with one text also turn into it, as `${os.arch}` in old code expects.
for (const read of [
  arch,
  availableParallelism,
  endianness,
  freemem,
  homedir,
  hostname,
  platform,
  release,
  tmpdir,
  totalmem,
  type,
  uptime,
  version,
  machine,
]) {
  Object.defineProperty(read, Symbol.toPrimitive, { value: () => read(), configurable: true });
}

export default os;
