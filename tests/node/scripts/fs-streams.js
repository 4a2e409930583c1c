// Files as streams: ranges, sizes of pieces, encodings, events, errors.
const fs = require('fs');

const out = fs.createWriteStream('s.txt');
console.log(out.path, out.bytesWritten, out.pending);
out.on('open', (fd) => console.log('open', typeof fd));
out.on('ready', () => console.log('ready'));
out.on('finish', () => console.log('finish', out.bytesWritten));
out.write('0123456789');
out.write(Buffer.from('abcdef'));
out.end('\nlast line\n', () => console.log('end callback'));
out.on('close', () => {
  console.log('close', out.closed, out.destroyed);
  read();
});

function read() {
  const stream = fs.createReadStream('s.txt', { start: 2, end: 12, highWaterMark: 4, encoding: 'utf8' });
  stream.on('data', (piece) => console.log('data', JSON.stringify(piece)));
  stream.on('end', () => console.log('end', stream.bytesRead));
  stream.on('close', iterate);
}

async function iterate() {
  let text = '';
  for await (const piece of fs.createReadStream('s.txt')) text += piece;
  console.log(text.length, fs.createReadStream('s.txt').on('error', () => {}).readableHighWaterMark);

  const append = fs.createWriteStream('s.txt', { flags: 'a' });
  append.end('more');
  await new Promise((resolve) => append.on('close', resolve));
  console.log(fs.readFileSync('s.txt', 'utf8').split('\n').length);

  const middle = fs.createWriteStream('s.txt', { flags: 'r+', start: 4 });
  middle.end('****');
  await new Promise((resolve) => middle.on('close', resolve));
  console.log(fs.readFileSync('s.txt', 'utf8').slice(0, 10));

  fs.createReadStream('s.txt', { end: 3 })
    .pipe(fs.createWriteStream('t.txt'))
    .on('close', () => {
      console.log(fs.readFileSync('t.txt', 'utf8'));
      fs.createReadStream('absent').on('error', (error) => {
        console.log(error.code, error.message, error.syscall);
        fs.createWriteStream('no/where').on('error', (other) => console.log(other.code, other.message));
      });
    });
}
