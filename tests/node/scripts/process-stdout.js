// stdout and stderr as streams: return values, callbacks, order, properties.
const { stdout, stderr } = process;
console.log(stdout.write('text\n'), stdout.write(Buffer.from('bytes\n')), stdout.write(new Uint8Array([104, 105, 10])));
stdout.write('callback\n', () => console.log('written'));
stdout.write('6869210a', 'hex');
stderr.write('to stderr\n');
console.error('error %s', 'formatted');
console.log(stdout.writable, stdout.writableEnded, stdout.columns, stdout.constructor.name.length > 0);
console.log(stdout instanceof require('stream').Writable, process.stdin instanceof require('stream').Readable);
require('fs').writeSync(1, 'by number\n');
console.log('after');
try {
  stdout.write(12);
} catch (error) {
  console.log(error.code, error.message);
}
try {
  stdout.write(null);
} catch (error) {
  console.log(error.code, error.message);
}
stdout.write('', () => stdout.write('end without newline'));
