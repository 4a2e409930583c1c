const fs = require('fs');
const crypto = require('crypto');

const MIB = 1 << 20;
const bytes = Buffer.alloc(5 * MIB, 'abcdefg');
const fd = fs.openSync('large', 'w+');
console.log('written at a position:', fs.writeSync(fd, bytes, 0, bytes.length, 3));
console.log('written behind it:', fs.writeSync(fd, bytes, 0, bytes.length, 3 + bytes.length));
const back = Buffer.alloc(20 * MIB);
console.log('read at a position:', fs.readSync(fd, back, 0, back.length, 3));
console.log('the same:', back.subarray(0, bytes.length).equals(bytes), back.subarray(bytes.length, 2 * bytes.length).equals(bytes));
console.log('read from here:', fs.readSync(fd, back, 0, back.length, null));
fs.closeSync(fd);

const random = crypto.randomBytes(50 * MIB);
const pieces = new Set();
for (let at = 0; at < random.length; at += MIB) pieces.add(random.subarray(at, at + 16).toString('hex'));
console.log('random bytes:', random.length, 'different pieces:', pieces.size);
console.log('filled:', crypto.randomFillSync(Buffer.alloc(20 * MIB)).length);
try {
  crypto.getRandomValues(new Uint8Array(65537));
} catch (error) {
  console.log('getRandomValues:', error.name);
}

const long = 'x/'.repeat(3 * MIB);
for (const [name, act] of Object.entries({
  stat: () => fs.statSync(long),
  open: () => fs.openSync(long),
  readdir: () => fs.readdirSync(long),
  rename: () => fs.renameSync('large', long),
  symlink: () => fs.symlinkSync(long, 'link'),
})) {
  try {
    act();
  } catch (error) {
    console.log(`${name}:`, error.code);
  }
}
