// Whole files, synchronously: text, bytes, encodings, flags, appending.
const fs = require('fs');

fs.writeFileSync('a.txt', 'grüße\n');
console.log(fs.readFileSync('a.txt', 'utf8'));
console.log(fs.readFileSync('a.txt'));
console.log(fs.readFileSync('a.txt', { encoding: 'base64' }));
console.log(fs.readFileSync('a.txt', 'latin1').length, fs.readFileSync('a.txt', 'hex'));

fs.appendFileSync('a.txt', 'more\n');
fs.writeFileSync('a.txt', 'again\n', { flag: 'a' });
console.log(JSON.stringify(fs.readFileSync('a.txt', 'utf-8')));

fs.writeFileSync('b.bin', Buffer.from([0, 1, 2, 255]));
fs.writeFileSync('c.bin', new Uint16Array([1, 2]));
console.log(fs.readFileSync('b.bin'), fs.readFileSync('c.bin'));
fs.writeFileSync('d.txt', '616263', 'hex');
console.log(fs.readFileSync('d.txt', 'utf8'));

console.log(fs.existsSync('a.txt'), fs.existsSync('nowhere'));
console.log(fs.writeFileSync('e.txt', ''), fs.readFileSync('e.txt', 'utf8') === '', fs.statSync('e.txt').size);

fs.truncateSync('a.txt', 3);
console.log(JSON.stringify(fs.readFileSync('a.txt', 'utf8')));
fs.truncateSync('a.txt');
console.log(fs.statSync('a.txt').size);

fs.copyFileSync('b.bin', 'copy.bin');
console.log(fs.readFileSync('copy.bin').equals(fs.readFileSync('b.bin')));
fs.renameSync('copy.bin', 'moved.bin');
fs.unlinkSync('c.bin');
console.log(fs.readdirSync('.'));
console.log(
  fs.readFileSync(new URL(`file://${process.cwd()}/d.txt`), 'utf8'),
  fs.readFileSync(Buffer.from('d.txt'), 'utf8'),
);
