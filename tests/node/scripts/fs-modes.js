// Calls about modes, owners and times that must at least not fail, and access.
const fs = require('fs');
fs.writeFileSync('f', 'x', { mode: 0o600 });
fs.mkdirSync('d', { mode: 0o700 });
console.log(fs.chmodSync('f', 0o644), fs.chmodSync('f', '755'), fs.utimesSync('f', 1, 2), fs.lutimesSync('f', 3, 4));
const fd = fs.openSync('f', 'r+', 0o644);
console.log(fs.fchmodSync(fd, 0o644), fs.futimesSync(fd, 5, 6), fs.fstatSync(fd).mtimeMs);
fs.closeSync(fd);
console.log(
  fs.accessSync('f'),
  fs.accessSync('f', fs.constants.R_OK | fs.constants.W_OK),
  fs.accessSync('d', fs.constants.F_OK),
);
console.log(
  fs.constants.F_OK,
  fs.constants.R_OK,
  fs.constants.W_OK,
  fs.constants.X_OK,
  fs.constants.O_RDONLY,
  fs.constants.O_CREAT,
  fs.constants.O_EXCL,
  fs.constants.O_APPEND,
  fs.constants.COPYFILE_EXCL,
);
for (const action of [
  () => fs.chmodSync('absent', 0o644),
  () => fs.chmodSync('f', 'rw'),
  () => fs.chmodSync('f'),
  () => fs.utimesSync('f', 'x', 1),
  () => fs.openSync('f', fs.constants.O_CREAT | fs.constants.O_EXCL | fs.constants.O_WRONLY),
]) {
  try {
    console.log(action());
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
const number = fs.openSync('g', fs.constants.O_CREAT | fs.constants.O_RDWR);
fs.writeSync(number, 'by flags');
fs.closeSync(number);
fs.chmod('f', 0o600, (error) => {
  console.log(error);
  fs.promises.chmod('f', 0o644).then(async () => {
    await fs.promises.utimes('f', new Date(0), new Date(1000));
    console.log((await fs.promises.stat('f')).mtime.toISOString(), fs.readFileSync('g', 'utf8'));
    console.log(process.umask(0o22) >= 0, process.umask());
  });
});
