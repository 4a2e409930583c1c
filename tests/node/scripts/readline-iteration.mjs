// Lines as an async iterator, from standard input, files and strings.
import readline from 'readline';
import { createReadStream, writeFileSync } from 'fs';
import { Readable } from 'stream';
import * as promises from 'readline/promises';

const numbers = [];
for await (const line of readline.createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  if (line.trim() === '') continue;
  numbers.push(Number(line));
}
console.log(
  numbers,
  numbers.reduce((a, b) => a + b, 0),
);
writeFileSync('f.csv', 'a,b\n1,2\n3,4\n');
const rows = [];
for await (const line of readline.createInterface(createReadStream('f.csv'))) rows.push(line.split(','));
console.log(rows);
for await (const line of promises.createInterface({ input: Readable.from(['par', 'tial\nli', 'nes\n', '\nend']) }))
  console.log(JSON.stringify(line));
const early = readline.createInterface({ input: Readable.from(['1\n2\n3\n']) });
for await (const line of early) {
  console.log(line);
  break;
}
console.log(early.closed);
