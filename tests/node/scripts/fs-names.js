// Names with spaces, other scripts, dots, slashes too many, and names too long.
const fs = require('fs');
const path = require('path');

const names = [
  'with space.txt',
  'ünï-ço∂é.txt',
  '日本語',
  '😀.md',
  'quo\'te"s',
  '-dash',
  '.dot',
  'a.b.c.tar.gz',
  'tab\there',
  'new\nline',
  '#hash?query',
  '100%',
  '[brackets] (and) {more}',
  '~tilde',
  '$dollar',
  'back\\slash',
];
fs.mkdirSync('d');
for (const name of names) fs.writeFileSync(path.join('d', name), name);
const listed = fs.readdirSync('d');
console.log(
  listed.length === names.length,
  names.every((name) => listed.includes(name)),
  listed.every((name) => fs.readFileSync(`d/${name}`, 'utf8') === name),
);
console.log(listed.filter((name) => /^[\x20-\x7e]+$/.test(name)));
for (const name of [
  'd//with space.txt',
  './d/./.dot',
  'd/../d/.dot',
  'd/nowhere/../.dot',
  'd/',
  'd/.',
  'd/..',
  'd/.dot/',
]) {
  try {
    const stats = fs.statSync(name);
    console.log(name, stats.isDirectory() ? 'directory' : stats.size);
  } catch (error) {
    console.log(name, error.code);
  }
}
for (const action of [
  () => fs.writeFileSync('x'.repeat(256), ''),
  () => fs.readFileSync('x'.repeat(300)),
  () => fs.mkdirSync(''),
  () => fs.readFileSync(''),
  () => fs.writeFileSync('d/sub/', ''),
  () => fs.openSync('d/.dot/x', 'w'),
]) {
  try {
    action();
    console.log('no error');
  } catch (error) {
    console.log(error.code, error.syscall);
  }
}
console.log(
  fs.writeFileSync('x'.repeat(255), 'long'),
  fs
    .readdirSync('.')
    .map((name) => name.length)
    .sort(),
);
fs.renameSync('d/ünï-ço∂é.txt', 'd/renamed');
fs.mkdirSync('d/sub dir/ä', { recursive: true });
fs.renameSync('d', 'e');
console.log(
  fs.existsSync('e/renamed'),
  fs.existsSync('d'),
  fs.readdirSync('e/sub dir'),
  fs.realpathSync('e/sub dir/../renamed') === path.resolve('e/renamed'),
);
try {
  fs.renameSync('e', 'e/inside');
} catch (error) {
  console.log(error.code, error.message);
}
fs.mkdirSync('f');
fs.writeFileSync('g', '');
for (const [from, to] of [
  ['e', 'f'],
  ['g', 'f'],
  ['f', 'g'],
  ['g', 'g'],
]) {
  try {
    fs.renameSync(from, to);
    console.log('renamed', from, to);
  } catch (error) {
    console.log(error.code);
  }
}
