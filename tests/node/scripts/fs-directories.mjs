// Directories: nested, listed flat, recursively and with types, removed, opened as streams.
import fs from 'fs';
import path from 'path';

console.log(fs.mkdirSync('a/b/c', { recursive: true }));
console.log(fs.mkdirSync('a/b/c', { recursive: true }));
console.log(fs.mkdirSync('d'));
for (const file of ['a/1.txt', 'a/b/2.txt', 'a/b/c/3.txt', 'z.md']) fs.writeFileSync(file, file);

console.log(fs.readdirSync('.').sort());
console.log(fs.readdirSync('.', { recursive: true }).sort());
for (const entry of fs.readdirSync('a', { withFileTypes: true }).sort((x, y) => (x.name < y.name ? -1 : 1))) {
  console.log(
    entry.name,
    entry.parentPath,
    entry.isFile(),
    entry.isDirectory(),
    entry.isSymbolicLink(),
    entry.isFIFO(),
  );
}
const all = fs.readdirSync('a', { withFileTypes: true, recursive: true });
console.log(all.map((entry) => path.join(entry.parentPath, entry.name)).sort());
console.log(all[0] instanceof fs.Dirent, all[0].constructor.name);
console.log(fs.readdirSync('a', 'buffer').map((name) => Buffer.isBuffer(name)));

const directory = fs.opendirSync('a');
const names = [];
for await (const entry of directory) names.push(entry.name);
console.log(names.sort(), directory.path);

const again = fs.opendirSync('d');
console.log(again.readSync(), again.closeSync());
try {
  again.readSync();
} catch (error) {
  console.log(error.code, error.message);
}

fs.rmdirSync('d');
fs.rmSync('a', { recursive: true });
console.log(fs.readdirSync('.'));
const scratch = fs.mkdtempSync('scratch-');
console.log(/^scratch-[A-Za-z0-9]{6}$/.test(scratch), fs.statSync(scratch).isDirectory());
