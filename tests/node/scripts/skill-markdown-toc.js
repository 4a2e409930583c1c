#!/usr/bin/env node
// Insert or update a table of contents between <!-- toc --> and <!-- tocstop --> in place.
const fs = require('fs').promises;

const slugs = () => {
  const seen = new Map();
  return (title) => {
    const base = title
      .trim()
      .toLowerCase()
      .replace(/<[^>]+>/g, '')
      .replace(/[^\w\u00C0-\u024F\- ]/g, '')
      .replace(/ /g, '-');
    const n = seen.get(base) || 0;
    seen.set(base, n + 1);
    return n ? `${base}-${n}` : base;
  };
};

function toc(markdown, { maxDepth = 3 } = {}) {
  const slug = slugs();
  let fence = null;
  const lines = [];
  for (const line of markdown.split('\n')) {
    const mark = line.match(/^\s*(```|~~~)/);
    if (mark) {
      fence = fence === mark[1] ? null : fence || mark[1];
      continue;
    }
    if (fence) continue;
    const heading = line.match(/^(#{1,6})\s+(.+?)\s*#*$/);
    if (!heading) continue;
    const [, { length: depth }, title] = heading;
    const anchor = slug(title);
    if (depth >= 2 && depth <= maxDepth)
      lines.push(`${'  '.repeat(depth - 2)}- [${title.replace(/\[([^\]]+)\]\([^)]*\)/g, '$1')}](#${anchor})`);
  }
  return lines.join('\n');
}

async function main() {
  const files = process.argv.slice(2);
  if (!files.length) throw new Error('no files given');
  const results = await Promise.allSettled(
    files.map(async (file) => {
      const source = await fs.readFile(file, 'utf8');
      if (!source.includes('<!-- toc -->')) return { file, status: 'no marker' };
      const updated = source.replace(
        /<!-- toc -->[\s\S]*?(<!-- tocstop -->)/,
        () => `<!-- toc -->\n\n${toc(source)}\n\n<!-- tocstop -->`,
      );
      if (updated === source) return { file, status: 'unchanged' };
      await fs.writeFile(file, updated);
      return { file, status: 'updated', text: await fs.readFile(file, 'utf8') };
    }),
  );
  results.forEach((r, i) => {
    if (r.status === 'rejected') return console.error(`${files[i]}: ${r.reason.code}`);
    console.log(`${r.value.file}: ${r.value.status}`);
    if (r.value.text) console.log(r.value.text);
  });
  if (results.some((r) => r.status === 'rejected')) process.exitCode = 1;
}
main().catch((e) => {
  console.error(e.message);
  process.exit(1);
});
