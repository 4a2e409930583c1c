// Patterns over a tree, one by one and all together.
import fs from 'node:fs';
import { glob } from 'node:fs/promises';
import path from 'node:path';

for (const file of [
  'src/a.ts',
  'src/b.js',
  'src/lib/c.ts',
  'src/lib/deep/d.test.ts',
  'docs/readme.md',
  'top.md',
  '.hidden/x.md',
  'src/lib/e.mts',
]) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, file);
}
const patterns = [
  '*.md',
  '**/*.md',
  'src/*',
  'src/**/*.ts',
  'src/**/*.{js,mts}',
  '**/[a-c].*',
  'src/?.js',
  'src/**',
  'absent/*',
  '**/deep',
  './top.md',
  'src/lib/!(c).*',
];
for (const pattern of patterns) console.log(pattern.padEnd(20), fs.globSync(pattern).sort().join(' '));
console.log(
  fs.globSync(['*.md', 'docs/*']).sort(),
  fs.globSync('**/*.ts', { cwd: 'src' }).sort(),
  fs.globSync('**/*.ts', { exclude: (name) => name === 'lib' }).sort(),
);
const found = [];
for await (const file of glob('**/*.ts')) found.push(file);
console.log(found.sort());
console.log(
  fs
    .globSync('src/*', { withFileTypes: true })
    .map((entry) => [entry.name, entry.isDirectory()])
    .sort(),
);
fs.glob('*.md', (error, files) => console.log(error, files));
console.log(
  path.matchesGlob('src/a.ts', 'src/*.ts'),
  path.matchesGlob('src/x/a.ts', 'src/*.ts'),
  path.matchesGlob('a.js', '*.{js,ts}'),
);
