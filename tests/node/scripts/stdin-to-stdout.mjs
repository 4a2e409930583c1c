// cat, upper-casing: standard input piped through a transform to standard output.
import { Transform } from 'stream';
import { pipeline } from 'stream/promises';
const upper = new Transform({
  transform(chunk, encoding, callback) {
    callback(null, chunk.toString().toUpperCase());
  },
});
await pipeline(process.stdin, upper, process.stdout, { end: false });
console.log('--- after the pipeline');
process.stdout.on('finish', () => console.error('finished'));
process.stdout.end('the end\n');
try {
  process.stdout.write('more');
} catch (error) {
  console.error(error.code);
}
process.stdout.on('error', (error) => console.error(error.code));
