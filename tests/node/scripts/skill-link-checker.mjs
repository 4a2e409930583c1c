#!/usr/bin/env node
// Check that relative links in Markdown files point to files and headings that exist.
import { readdir, readFile, access } from 'node:fs/promises';
import { dirname, join, relative, resolve, extname } from 'node:path';

const root = resolve(process.argv[2] ?? '.');
const slug = (text) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s-]/gu, '')
    .trim()
    .replace(/\s+/g, '-');

async function* markdownFiles(folder) {
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries.sort((a, b) => a.name.localeCompare(b.name))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && !entry.name.startsWith('.')) yield* markdownFiles(path);
    else if (extname(entry.name) === '.md') yield path;
  }
}

async function headings(path) {
  const text = await readFile(path, 'utf8');
  return new Set([...text.matchAll(/^#{1,6}\s+(.+)$/gm)].map(([, title]) => slug(title)));
}

const exists = (path) =>
  access(path).then(
    () => true,
    () => false,
  );
const problems = [];
let links = 0;
for await (const file of markdownFiles(root)) {
  const lines = (await readFile(file, 'utf8')).split('\n');
  for (const [index, line] of lines.entries()) {
    for (const match of line.matchAll(/!?\[(?<label>[^\]]*)\]\((?<target>[^)\s]+)(?:\s+"[^"]*")?\)/g)) {
      const { target } = match.groups;
      links++;
      if (/^(https?:|mailto:)/.test(target)) continue;
      const [path, anchor] = decodeURIComponent(target).split('#');
      const full = path ? join(dirname(file), path) : file;
      const where = `${relative(root, file)}:${index + 1}:${match.index + 1}`;
      if (!(await exists(full))) problems.push(`${where} missing file ${path}`);
      else if (anchor && !(await headings(full)).has(anchor)) problems.push(`${where} missing heading #${anchor}`);
    }
  }
}
console.log(`${links} links checked`);
problems.forEach((problem) => console.error(`✗ ${problem}`));
process.exitCode = problems.length ? 1 : 0;
