// Arguments that make no sense, and the errors they get before any call is made.
const fs = require('node:fs');

function attempt(label, action) {
  try {
    console.log(label, 'returned', action());
  } catch (error) {
    console.log(`${label}: ${error.name} [${error.code}] ${error.message}`);
  }
}

attempt('no path', () => fs.readFileSync());
attempt('null path', () => fs.readFileSync(null));
attempt('number path', () => fs.statSync(1.5));
attempt('object path', () => fs.readdirSync({}));
attempt('array path', () => fs.openSync(['x']));
attempt('NUL in a path', () => fs.readFileSync('a\0b'));
attempt('NUL in a Buffer', () => fs.statSync(Buffer.from('a\0b')));
attempt('bad encoding', () => fs.readFileSync('x', 'utf9'));
attempt('bad flag', () => fs.openSync('x', 'rw'));
attempt('http URL', () => fs.readFileSync(new URL('http://example.com/x')));
attempt('file URL with a host', () => fs.readFileSync(new URL('file://host/x')));
attempt('file URL with %2f', () => fs.readFileSync(new URL('file:///a%2fb')));
attempt('write undefined', () => fs.writeFileSync('x', undefined));
attempt('write a number', () => fs.writeFileSync('x', 12));
attempt('write an object', () => fs.writeFileSync('x', { a: 1 }));
attempt('no callback', () => fs.readFile('x'));
attempt('callback is a string', () => fs.stat('x', 'utf8'));
attempt('fd is a string', () => fs.closeSync('1'));
attempt('fd is negative', () => fs.readSync(-1, Buffer.alloc(1)));
attempt('read into a string', () => fs.readSync(0, 'text'));
attempt('mode', () => fs.accessSync('x', 99));
attempt('rename to nothing', () => fs.renameSync('x'));
attempt('options number', () => fs.readFileSync('x', 5));
attempt('mkdir recursive', () => fs.mkdirSync('x', { recursive: 'yes' }));
attempt('symlink target', () => fs.symlinkSync(5, 'x'));
