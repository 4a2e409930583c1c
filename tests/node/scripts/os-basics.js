// os: the kinds of what it tells; the values belong to the machine.
const os = require('os');
console.log(JSON.stringify(os.EOL), os.platform(), os.type(), os.endianness(), os.devNull);
for (const name of [
  'arch',
  'release',
  'version',
  'machine',
  'hostname',
  'homedir',
  'tmpdir',
  'uptime',
  'totalmem',
  'freemem',
  'availableParallelism',
]) {
  console.log(name, typeof os[name](), os[name]() ? 'something' : 'nothing');
}
console.log(os.homedir() === process.env.HOME, os.tmpdir() === process.env.TMPDIR, os.totalmem() >= os.freemem());
console.log(
  Array.isArray(os.cpus()),
  os.cpus().every((cpu) => typeof cpu.model === 'string' && typeof cpu.times.user === 'number'),
  os.loadavg().length,
);
console.log(
  typeof os.networkInterfaces(),
  Object.keys(os.userInfo()).sort(),
  typeof os.userInfo().username,
  typeof os.getPriority(),
);
console.log(
  os.constants.signals.SIGTERM,
  os.constants.signals.SIGKILL,
  os.constants.errno.ENOENT,
  os.constants.priority.PRIORITY_LOW,
  os.constants.UV_UDP_REUSEADDR,
);
console.log(`${os.platform}`, `${os.homedir}` === os.homedir(), os.arch() === process.arch);
console.log(Object.keys(os).sort().join(' '));
process.env.HOME = '/changed';
process.env.TMPDIR = '/elsewhere/';
console.log(os.homedir(), os.tmpdir());
delete process.env.TMPDIR;
console.log(os.tmpdir());
