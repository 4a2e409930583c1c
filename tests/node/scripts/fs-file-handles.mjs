// FileHandle: read, write, lines, streams, closing.
import { open } from 'fs/promises';

const file = await open('f.txt', 'w+');
console.log(typeof file.fd, file.constructor.name);
console.log(await file.write('line one\n'));
console.log((await file.write(Buffer.from('line two\n'))).bytesWritten);
await file.writeFile('line three\nlast');
await file.appendFile('!');
console.log((await file.stat()).size);
const { bytesRead, buffer } = await file.read(Buffer.alloc(8), 0, 8, 0);
console.log(bytesRead, buffer.toString());
console.log((await file.read({ buffer: Buffer.alloc(4), position: 5 })).buffer.toString());
await file.truncate(20);
await file.sync();
await file.datasync();
console.log(await file.close(), file.fd);

await using again = await open('f.txt');
for await (const line of again.readLines()) console.log('line', JSON.stringify(line));

const third = await open('f.txt', 'r');
console.log(JSON.stringify(await third.readFile('utf8')));
await third.close();

const reader = await open('f.txt');
const pieces = [];
for await (const piece of reader.createReadStream({ encoding: 'utf8', highWaterMark: 7 })) pieces.push(piece);
console.log(pieces);

const writer = await open('g.txt', 'w');
const stream = writer.createWriteStream();
stream.write('a');
stream.end('b');
await new Promise((resolve) => stream.on('close', resolve));
const check = await open('g.txt');
console.log((await check.readFile()).toString());
console.log(await check.writev([Buffer.from('x')]).catch((error) => `${error.code} ${error.syscall}`));
await check.close();
console.log(await check.read(Buffer.alloc(1)).catch((error) => `${error.code} ${error.message}`));
console.log(await open('absent').catch((error) => `${error.code} ${error.message}`));
console.log(await open('g.txt', 'wx').catch((error) => `${error.code} ${error.message}`));
