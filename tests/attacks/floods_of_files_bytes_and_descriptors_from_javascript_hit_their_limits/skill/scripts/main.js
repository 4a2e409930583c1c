const fs = require('node:fs');
const many = Number(process.argv[2]);
function until(what, step) {
  let count = 0;
  try {
    while (count < many) step(count++);
    console.log(`${what}: no end after ${count}`);
  } catch (error) {
    console.log(`${what}: ${error.name} ${error.code}`);
  }
}

const MIB = Buffer.alloc(2 ** 20);
fs.writeFileSync('/tmp/bytes', '');
until('bytes', () => fs.appendFileSync('/tmp/bytes', MIB));
console.log('at most 64 MiB are there:', fs.statSync('/tmp/bytes').size <= 64 * 2 ** 20);
fs.rmSync('/tmp/bytes');
until('a sparse file', (count) => { fs.writeFileSync('/tmp/sparse', ''); fs.truncateSync('/tmp/sparse', count * 2 ** 20); });
fs.rmSync('/tmp/sparse', { force: true });
const kept = [];
until('open files', (count) => kept.push(fs.openSync(`/tmp/file${count % 10}`, 'w')));
kept.splice(0).forEach((fd) => fs.closeSync(fd));
until('open folders', () => kept.push(fs.opendirSync('/tmp')));
kept.splice(0).forEach((dir) => dir.closeSync());
until('names', (count) => fs.mkdirSync(`/tmp/folder${count}`));
console.log('after all:', fs.writeFileSync('/tmp/again', MIB) ?? fs.readdirSync('/tmp').includes('again'));
