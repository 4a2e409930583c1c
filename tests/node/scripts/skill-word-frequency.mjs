#!/usr/bin/env node
// Words of standard input by frequency; ignores stop words; -n for how many.
import { argv, stdin, exit } from 'node:process';

const stop = new Set('the a an and or of to in is it that for on with as at by'.split(' '));
const n = Number(argv[argv.indexOf('-n') + 1]) || 5;

const chunks = [];
for await (const chunk of stdin) chunks.push(chunk);
const text = Buffer.concat(chunks).toString('utf8').normalize('NFC');
if (!text.trim()) {
  console.error('nothing on stdin');
  exit(1);
}
const words = text.toLocaleLowerCase('en').match(/\p{L}[\p{L}\p{M}'’-]*/gu) ?? [];
const counts = new Map();
for (const word of words) if (!stop.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1);
const ranking = [...counts].sort(([a, x], [b, y]) => y - x || a.localeCompare(b)).slice(0, n);
const longest = Math.max(...ranking.map(([word]) => word.length));
for (const [word, count] of ranking) console.log(`${word.padEnd(longest)} ${'#'.repeat(count)} ${count}`);
const sentences = text.split(/(?<=[.!?])\s+/).filter(Boolean);
console.log({
  words: words.length,
  unique: counts.size,
  sentences: sentences.length,
  characters: [...text].length,
  average: +(words.length / sentences.length).toFixed(2),
});
