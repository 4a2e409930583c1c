// More than fits into one buffer: large files, many files, deep folders.
import fs from 'fs';
import { createHash } from 'crypto';
import { pipeline } from 'stream/promises';

const line = 'The quick brown fox jumps over the lazy dog; größer als gedacht.\n';
const text = line.repeat(50_000);
fs.writeFileSync('large.txt', text);
console.log(
  fs.statSync('large.txt').size,
  fs.readFileSync('large.txt', 'utf8') === text,
  fs.readFileSync('large.txt').length,
);
const hash = createHash('sha256');
let pieces = 0;
for await (const piece of fs.createReadStream('large.txt')) {
  pieces++;
  hash.update(piece);
}
console.log(pieces > 10, hash.digest('hex'));
await pipeline(
  fs.createReadStream('large.txt', 'utf8'),
  async function* (source) {
    for await (const piece of source) yield piece.toUpperCase();
  },
  fs.createWriteStream('upper.txt'),
);
console.log(fs.readFileSync('upper.txt', 'utf8').slice(-30).trim(), fs.statSync('upper.txt').size);
const out = fs.createWriteStream('slow.txt', { highWaterMark: 1024 });
let waited = 0;
for (let i = 0; i < 5_000; i++)
  if (!out.write(`${i}\n`)) {
    waited++;
    await new Promise((resolve) => out.once('drain', resolve));
  }
await new Promise((resolve) => out.end(resolve));
console.log(waited > 5, fs.readFileSync('slow.txt', 'utf8').split('\n').length);
fs.mkdirSync('many');
for (let i = 0; i < 300; i++) fs.writeFileSync(`many/${String(i).padStart(4, '0')}.json`, JSON.stringify({ i }));
const sum = fs
  .readdirSync('many')
  .map((name) => JSON.parse(fs.readFileSync(`many/${name}`, 'utf8')).i)
  .reduce((a, b) => a + b);
const again = await Promise.all(fs.readdirSync('many').map((name) => fs.promises.readFile(`many/${name}`, 'utf8')));
console.log(sum, again.length, JSON.parse(again[299]).i);
const deep = Array.from({ length: 40 }, (_, i) => `level${i}`).join('/');
fs.mkdirSync(deep, { recursive: true });
fs.writeFileSync(`${deep}/bottom`, 'reached');
console.log(fs.readdirSync('level0', { recursive: true }).length, fs.readFileSync(`${deep}/bottom`, 'utf8'));
fs.rmSync('level0', { recursive: true });
fs.rmSync('many', { recursive: true });
console.log(fs.readdirSync('.').sort());
