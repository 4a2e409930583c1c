// What stat tells: sizes, kinds, times, as numbers and as BigInts.
const fs = require('fs');

fs.writeFileSync('f', '12345');
fs.mkdirSync('d');
const stats = fs.statSync('f');
console.log(stats.constructor.name, stats instanceof fs.Stats);
console.log(Object.keys(stats).join(' '));
console.log(
  stats.size,
  stats.isFile(),
  stats.isDirectory(),
  stats.isSymbolicLink(),
  stats.isBlockDevice(),
  stats.isSocket(),
);
console.log(fs.statSync('d').isDirectory(), fs.statSync('d').isFile());
console.log(
  (stats.mode & fs.constants.S_IFMT) === fs.constants.S_IFREG,
  (fs.statSync('d').mode & fs.constants.S_IFMT) === fs.constants.S_IFDIR,
);
for (const name of ['atime', 'mtime', 'ctime', 'birthtime']) {
  console.log(
    name,
    stats[name] instanceof Date,
    typeof stats[`${name}Ms`],
    stats[name].getTime() === Math.round(stats[`${name}Ms`]) || Math.abs(stats[name] - stats[`${name}Ms`]) < 1,
  );
}
console.log(Math.abs(Date.now() - stats.mtimeMs) < 60_000);

fs.utimesSync('f', 1_000_000_000, new Date('2020-02-02T02:02:02.500Z'));
const later = fs.statSync('f');
console.log(later.atime.toISOString(), later.mtime.toISOString(), later.mtimeMs);
fs.utimesSync('f', '1600000000', '1600000000.25');
console.log(fs.statSync('f').mtime, fs.statSync('f').mtimeMs);

const big = fs.statSync('f', { bigint: true });
console.log(big.size, big.mtimeNs, big.mtimeMs, typeof big.ino, big.isFile(), big.mtime.toISOString());
console.log(Object.keys(big).filter((key) => key.endsWith('Ns')));

fs.stat('d', (error, found) => {
  console.log(error, found.isDirectory());
  fs.lstat('f', { bigint: true }, (problem, link) => {
    console.log(problem, link.size);
    fs.promises.stat('f').then((again) => console.log(again.size, again.nlink));
  });
});
try {
  fs.utimesSync('absent', 1, 1);
} catch (error) {
  console.log(error.code, error.message);
}
