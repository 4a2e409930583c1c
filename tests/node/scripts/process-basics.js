// What process knows of the run, as properties rather than values.
console.log(process.argv.length, process.argv[1] === __filename, typeof process.argv[0]);
console.log(process.argv0.length > 0, process.execPath.startsWith('/'), Array.isArray(process.execArgv));
console.log(process.platform, process.version, process.versions.node, Object.keys(process.versions).includes('v8'));
console.log(
  process.release.name,
  typeof process.pid,
  typeof process.ppid,
  process.title.length > 0,
  typeof process.arch,
);
console.log(process.cwd() === require('fs').realpathSync('.'), process.uptime() > 0, process.uptime() < 60);
console.log(Object.prototype.toString.call(process), typeof process.umask(), process.exitCode);

require('fs').mkdirSync('inner');
process.chdir('inner');
console.log(process.cwd().endsWith('/inner'), require('path').resolve('x').endsWith('/inner/x'));
process.chdir('..');
try {
  process.chdir('absent');
} catch (error) {
  console.log(error.code, error.syscall, error.message.replace(/'\/.*' ->/, "'…' ->"));
}
try {
  process.chdir(5);
} catch (error) {
  console.log(error.code, error.message);
}

const start = process.hrtime();
const passed = process.hrtime(start);
console.log(start.length, passed[0], passed[1] >= 0, typeof process.hrtime.bigint(), process.hrtime.bigint() >= 0n);
console.log(Object.keys(process.memoryUsage()), process.memoryUsage().heapUsed > 0, process.memoryUsage.rss() > 0);
console.log(Object.keys(process.cpuUsage()), typeof process.resourceUsage);
console.log(process.stdin.fd, process.stdout.fd, process.stderr.fd, process.stdout.isTTY, process.stdin.isTTY);
console.log(
  typeof process.getuid(),
  typeof process.geteuid(),
  process.config !== undefined,
  process.features.typescript !== undefined,
);
console.log(process.allowedNodeEnvironmentFlags instanceof Set, process.emitWarning.length);
console.log(process === require('process'), process === require('node:process'), process === globalThis.process);
console.log(process instanceof require('events'), process.listenerCount('exit'));
