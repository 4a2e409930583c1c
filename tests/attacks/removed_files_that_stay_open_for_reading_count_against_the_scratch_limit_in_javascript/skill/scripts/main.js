// Writes files of 30 MiB to the scratch directory, opens each for reading and removes it.
const fs = require('fs');
const path = require('os').tmpdir() + '/f';
const keep = process.argv[2] === 'keep';
try {
  for (let count = 0; count < 6; count++) {
    const file = fs.openSync(path, 'w');
    const bytes = Buffer.alloc(1 << 20);
    for (let i = 0; i < 30; i++) fs.writeSync(file, bytes);
    fs.closeSync(file);
    if (keep) fs.openSync(path, 'r');
    fs.unlinkSync(path);
    console.log('file', count);
  }
} catch (error) {
  console.log(error.code);
}
