#!/usr/bin/env node
// Print a directory tree with sizes, like `tree`.
const fs = require('node:fs');
const path = require('node:path');

const options = { depth: Infinity, all: false, ignore: new Set(['node_modules', '.git']) };
const roots = [];
for (let i = 2; i < process.argv.length; i++) {
  const arg = process.argv[i];
  if (arg === '-a') options.all = true;
  else if (arg === '-L') options.depth = parseInt(process.argv[++i], 10);
  else if (arg === '-I') process.argv[++i].split('|').forEach((name) => options.ignore.add(name));
  else roots.push(arg);
}
const count = { directories: 0, files: 0, bytes: 0 };
const human = (n) =>
  n < 1024 ? `${n} B` : n < 1024 ** 2 ? `${(n / 1024).toFixed(1)} kB` : `${(n / 1024 ** 2).toFixed(1)} MB`;

function walk(folder, prefix = '', depth = 1) {
  const entries = fs
    .readdirSync(folder, { withFileTypes: true })
    .filter((e) => (options.all || !e.name.startsWith('.')) && !options.ignore.has(e.name))
    .sort((a, b) => b.isDirectory() - a.isDirectory() || a.name.localeCompare(b.name, 'en', { numeric: true }));
  entries.forEach((entry, i) => {
    const last = i === entries.length - 1;
    const full = path.join(folder, entry.name);
    let label = entry.name;
    if (entry.isSymbolicLink()) label += ` -> ${fs.readlinkSync(full)}`;
    else if (entry.isFile()) {
      const { size } = fs.statSync(full);
      count.files++;
      count.bytes += size;
      label += ` (${human(size)})`;
    }
    console.log(`${prefix}${last ? '└── ' : '├── '}${label}`);
    if (entry.isDirectory()) {
      count.directories++;
      if (depth < options.depth) walk(full, prefix + (last ? '    ' : '│   '), depth + 1);
    }
  });
}
for (const root of roots.length ? roots : ['.']) {
  console.log(root);
  walk(root);
}
console.log(`\n${count.directories} directories, ${count.files} files, ${human(count.bytes)}`);
