// Copies of trees, with filters and without overwriting; symbolic and hard links.
import fs from 'node:fs';
import { cp } from 'node:fs/promises';

fs.mkdirSync('src/sub/deep', { recursive: true });
fs.writeFileSync('src/a.txt', 'a');
fs.writeFileSync('src/b.log', 'b');
fs.writeFileSync('src/sub/c.txt', 'c');
fs.writeFileSync('src/sub/deep/d.txt', 'd');
const tree = (folder) => fs.readdirSync(folder, { recursive: true }).sort().join(' ');

fs.cpSync('src', 'one', { recursive: true });
console.log(tree('one'));
fs.cpSync('src', 'two', { recursive: true, filter: (from) => !from.endsWith('.log') });
console.log(tree('two'));
await cp('src', 'three/inside', { recursive: true });
console.log(tree('three'));
await cp('src/a.txt', 'three/copy.txt');
console.log(fs.readFileSync('three/copy.txt', 'utf8'));

fs.writeFileSync('one/a.txt', 'changed');
fs.cpSync('src', 'one', { recursive: true, force: false });
console.log(fs.readFileSync('one/a.txt', 'utf8'));
fs.cpSync('src', 'one', { recursive: true });
console.log(fs.readFileSync('one/a.txt', 'utf8'));
for (const options of [{}, { recursive: true, errorOnExist: true, force: false }]) {
  try {
    fs.cpSync('src', 'one', options);
  } catch (error) {
    console.log(error.name, error.code);
  }
}
await cp('absent', 'x').catch((error) => console.log(error.code, error.message));

fs.symlinkSync('src/a.txt', 'link');
console.log(fs.readlinkSync('link'), fs.readFileSync('link', 'utf8'));
console.log(fs.lstatSync('link').isSymbolicLink(), fs.statSync('link').isSymbolicLink());
console.log(fs.realpathSync('link') === fs.realpathSync('src/a.txt'));
fs.symlinkSync('nowhere', 'broken');
console.log(fs.existsSync('broken'), fs.lstatSync('broken').isSymbolicLink());
fs.linkSync('src/a.txt', 'hard');
console.log(fs.statSync('hard').nlink, fs.statSync('hard').ino === fs.statSync('src/a.txt').ino);
fs.unlinkSync('link');
console.log(fs.existsSync('src/a.txt'));
try {
  fs.symlinkSync('x', 'broken');
} catch (error) {
  console.log(error.code, error.message);
}
