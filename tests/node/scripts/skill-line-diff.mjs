#!/usr/bin/env node
// A unified diff of two files, with colours when asked for.
import { readFile } from 'fs/promises';
import { styleText } from 'util';

const [a, b, ...flags] = process.argv.slice(2);
const colour = (style, text) => (flags.includes('--color') ? styleText(style, text, { validateStream: false }) : text);
const [left, right] = await Promise.all(
  [a, b].map(async (file) => (await readFile(file, 'utf8')).replace(/\n$/, '').split('\n')),
);

// The lengths of the longest common subsequences of all tails.
const lengths = Array.from({ length: left.length + 1 }, () => new Uint32Array(right.length + 1));
for (let i = left.length - 1; i >= 0; i--) {
  for (let j = right.length - 1; j >= 0; j--) {
    lengths[i][j] = left[i] === right[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
  }
}
const edits = [];
for (let i = 0, j = 0; i < left.length || j < right.length;) {
  if (i < left.length && j < right.length && left[i] === right[j]) edits.push([' ', left[i++], i, ++j]);
  else if (j >= right.length || (i < left.length && lengths[i + 1][j] >= lengths[i][j + 1]))
    edits.push(['-', left[i++], i, j]);
  else edits.push(['+', right[j++], i, j]);
}
const context = 2;
const shown = edits.map((_, at) =>
  edits.slice(Math.max(0, at - context), at + context + 1).some(([mark]) => mark !== ' '),
);
console.log(colour('bold', `--- ${a}\n+++ ${b}`));
edits.forEach(([mark, line, i, j], at) => {
  if (!shown[at]) return;
  if (!shown[at - 1]) console.log(colour('cyan', `@@ -${i || 1} +${j || 1} @@`));
  console.log(mark === ' ' ? ` ${line}` : colour(mark === '+' ? 'green' : 'red', `${mark}${line}`));
});
const count = (wanted) => edits.filter(([mark]) => mark === wanted).length;
console.log(`${count('+')} insertion(s), ${count('-')} deletion(s)`);
process.exit(count('+') + count('-') ? 1 : 0);
