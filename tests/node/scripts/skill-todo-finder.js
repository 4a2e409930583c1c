#!/usr/bin/env node
/* Lists TODO/FIXME/HACK comments under a directory.  --json for machine output, --fail to exit 1 if any. */
const { readdirSync, readFileSync } = require('fs');
const { join, extname, relative } = require('path');

const CODE = new Set(['.js', '.ts', '.py', '.go', '.rs', '.css', '.html']);
const IGNORED = ['node_modules', 'dist', '.git'];
const PATTERN = /(?:\/\/|#|\/\*|<!--)\s*(TODO|FIXME|HACK)(?:\(([^)]*)\))?:?\s*(.*?)\s*(?:\*\/|-->)?$/i;

const walk = (dir) =>
  readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    if (IGNORED.includes(entry.name)) return [];
    const path = join(dir, entry.name);
    return entry.isDirectory() ? walk(path) : CODE.has(extname(entry.name)) ? [path] : [];
  });

const args = new Set(process.argv.slice(2));
const root = [...args].find((a) => !a.startsWith('-')) ?? process.cwd();
const found = [];
for (const file of walk(root).sort()) {
  readFileSync(file, 'utf8')
    .split('\n')
    .forEach((line, i) => {
      const m = PATTERN.exec(line);
      if (m)
        found.push({
          file: relative(root, file),
          line: i + 1,
          kind: m[1].toUpperCase(),
          owner: m[2] ?? null,
          text: m[3],
        });
    });
}
if (args.has('--json')) {
  console.log(JSON.stringify(found, null, '\t'));
} else {
  const width = Math.max(...found.map((t) => `${t.file}:${t.line}`.length));
  for (const t of found)
    console.log(`${`${t.file}:${t.line}`.padEnd(width)}  ${t.kind}${t.owner ? ` @${t.owner}` : ''}  ${t.text}`);
  const tally = found.reduce((acc, { kind }) => ({ ...acc, [kind]: (acc[kind] || 0) + 1 }), {});
  console.log(
    '\n' +
      Object.entries(tally)
        .map(([kind, n]) => `${n} ${kind}${n > 1 ? 's' : ''}`)
        .join(', '),
  );
}
if (args.has('--fail') && found.length) process.exit(1);
