// Open files by number: positions, partial reads, holes, several buffers, metadata.
const fs = require('fs');

const fd = fs.openSync('data.bin', 'w+');
console.log(typeof fd, fd > 2);
console.log(fs.writeSync(fd, 'hello world'));
console.log(fs.writeSync(fd, Buffer.from('HELLO'), 0, 5, 0));
console.log(fs.writeSync(fd, '!', 11), fs.writeSync(fd, 'é', null, 'latin1'));

const buffer = Buffer.alloc(20, '.');
console.log(fs.readSync(fd, buffer, 0, 5, 0), buffer.toString());
console.log(fs.readSync(fd, buffer, 10, 5, 6), buffer.toString());
console.log(fs.readSync(fd, buffer, { position: 100 }));
console.log(fs.readSync(fd, buffer, { offset: 2, length: 3, position: 6 }), buffer.toString());
console.log(fs.writevSync(fd, [Buffer.from('ab'), Buffer.from('cd')], 2));
const parts = [Buffer.alloc(3), Buffer.alloc(3)];
console.log(fs.readvSync(fd, parts, 0), parts.map(String));

fs.ftruncateSync(fd, 4);
console.log(fs.fstatSync(fd).size, fs.fstatSync(fd).isFile());
fs.writeSync(fd, 'x', 8);
fs.fsyncSync(fd);
fs.fdatasyncSync(fd);
console.log(fs.readFileSync('data.bin'));
console.log(fs.closeSync(fd));
try {
  fs.readSync(fd, buffer);
} catch (error) {
  console.log(error.code, error.message);
}

const reader = fs.openSync('data.bin');
let piece;
while ((piece = fs.readSync(reader, buffer, 0, 2, null)) > 0) process.stdout.write(`${piece} `);
console.log(fs.readSync(reader, buffer));
try {
  fs.writeSync(reader, 'no');
} catch (error) {
  console.log(error.code, error.message);
}
fs.closeSync(reader);
const appender = fs.openSync('data.bin', 'a');
fs.writeFileSync(appender, 'END');
fs.closeSync(appender);
console.log(fs.readFileSync('data.bin').subarray(-4));
fs.writeSync(1, 'straight to standard output\n');
