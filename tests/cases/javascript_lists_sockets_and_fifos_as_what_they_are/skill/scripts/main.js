const fs = require('fs');

const METHODS = ['isFile', 'isDirectory', 'isSymbolicLink', 'isFIFO', 'isSocket', 'isCharacterDevice', 'isBlockDevice'];
const kinds = (entry) => METHODS.filter((method) => entry[method]()).join();

console.log(fs.readdirSync('.').join());
for (const entry of fs.readdirSync('.', { withFileTypes: true })) console.log(entry.name, kinds(entry));
for (const name of fs.readdirSync('.')) console.log(name, kinds(fs.lstatSync(name)), kinds(fs.statSync(name)));
const dir = fs.opendirSync('.');
for (let entry = dir.readSync(); entry; entry = dir.readSync()) console.log(entry.name, kinds(entry));
fs.promises.readdir('.', { recursive: true }).then((names) => console.log(names.join()));
