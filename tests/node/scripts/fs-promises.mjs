// fs/promises: the same files, awaited.
import {
  readFile,
  writeFile,
  appendFile,
  mkdir,
  readdir,
  stat,
  rm,
  rename,
  copyFile,
  access,
  mkdtemp,
  unlink,
  constants,
} from 'fs/promises';
import * as namespace from 'node:fs/promises';
import { promises, promises as fsp } from 'fs';

console.log(namespace.default === promises, namespace.readFile === fsp.readFile);
console.log(await writeFile('a.txt', 'one\n'), await appendFile('a.txt', 'two\n'));
console.log(JSON.stringify(await readFile('a.txt', 'utf8')), await readFile('a.txt'));
console.log(await mkdir('x/y', { recursive: true }));
await copyFile('a.txt', 'x/b.txt');
await rename('x/b.txt', 'x/y/c.txt');
console.log((await readdir('.', { recursive: true })).sort());
const details = await stat('x/y/c.txt');
console.log(details.isFile(), details.size, details.mtime instanceof Date);
console.log(await access('a.txt', constants.R_OK));

const failures = [
  readFile('absent'),
  readdir('absent'),
  stat('absent'),
  mkdir('x'),
  unlink('absent'),
  rm('x'),
  access('absent'),
  copyFile('absent', 'b'),
  rename('absent', 'b'),
  readFile('x'),
];
for (const result of await Promise.allSettled(failures)) {
  const { code, message, syscall, errno } = result.reason;
  console.log(result.status, code, errno, syscall, message);
}
try {
  readFile(5.5).catch((error) => console.log('rejected', error.code));
  writeFile('b', {}).catch((error) => console.log('rejected', error.code));
} catch (error) {
  console.log('thrown', error.code);
}
const lines = async function* () {
  yield 'from ';
  yield 'a generator\n';
};
await writeFile('g.txt', lines());
console.log(await readFile('g.txt', { encoding: 'utf8' }));
const made = await mkdtemp('t-');
console.log(made.length);
await rm('x', { recursive: true, force: true });
console.log(await rm('x', { force: true }));
