// zlib as streams: through files, through pipes, with errors.
import {
  createGzip,
  createGunzip,
  createDeflate,
  createInflate,
  createUnzip,
  createDeflateRaw,
  createInflateRaw,
  gzip,
} from 'zlib';
import { createReadStream, createWriteStream, readFileSync, writeFileSync, statSync } from 'fs';
import { pipeline } from 'stream/promises';
import { Readable } from 'stream';
import { buffer } from 'stream/consumers';
import { promisify } from 'util';

writeFileSync('in.txt', 'line of text\n'.repeat(10_000));
await pipeline(createReadStream('in.txt'), createGzip({ level: 9 }), createWriteStream('in.txt.gz'));
console.log(statSync('in.txt.gz').size < 2000, readFileSync('in.txt.gz').subarray(0, 3));
await pipeline(createReadStream('in.txt.gz'), createGunzip(), createWriteStream('out.txt'));
console.log(readFileSync('out.txt').equals(readFileSync('in.txt')));
for (const [pack, unpack] of [
  [createDeflate, createInflate],
  [createDeflateRaw, createInflateRaw],
  [createGzip, createUnzip],
]) {
  const data = await buffer(
    Readable.from(['a', 'b', 'c'].map((x) => Buffer.from(x.repeat(1000))))
      .pipe(pack())
      .pipe(unpack()),
  );
  console.log(data.length, data.subarray(998, 1002).toString());
}
const written = createGzip();
const chunks = [];
written.on('data', (chunk) => chunks.push(chunk));
written.on('end', () => console.log('end', written.bytesWritten));
written.write('some');
written.flush(() => {
  console.log('flushed', Buffer.concat(chunks).length > 10);
  written.end('thing');
});
await new Promise((resolve) => written.on('close', resolve));
console.log((await buffer(Readable.from([Buffer.concat(chunks)]).pipe(createGunzip()))).toString());
console.log(
  await pipeline(Readable.from([Buffer.from('garbage!')]), createGunzip(), async (source) => {
    for await (const x of source);
  }).catch((error) => `${error.code} ${error.message}`),
);
console.log((await promisify(gzip)('x')).length > 10);
