// Read YAML-like front matter of Markdown files and print an index as JSON.
import { readFileSync, readdirSync, statSync } from 'fs';
import { join, basename } from 'path';

function scalar(text) {
  const value = text.trim();
  if (/^(".*"|'.*')$/.test(value)) return value.slice(1, -1);
  if (/^\[.*\]$/.test(value))
    return value
      .slice(1, -1)
      .split(',')
      .map(scalar)
      .filter((item) => item !== '');
  if (value === 'true' || value === 'false') return value === 'true';
  if (value !== '' && !Number.isNaN(Number(value))) return Number(value);
  if (/^\d{4}-\d{2}-\d{2}$/.test(value)) return new Date(`${value}T00:00:00Z`);
  return value;
}

export function frontMatter(source) {
  const match = /^---\r?\n([\s\S]*?)\r?\n---\r?\n?([\s\S]*)$/.exec(source);
  if (!match) return { data: {}, body: source };
  const data = {};
  let list = null;
  for (const line of match[1].split(/\r?\n/)) {
    const item = /^\s+-\s+(.*)$/.exec(line);
    if (item && list) {
      data[list].push(scalar(item[1]));
      continue;
    }
    const pair = /^([\w-]+):\s*(.*)$/.exec(line);
    if (!pair) continue;
    const [, key, value] = pair;
    if (value === '') {
      data[key] = [];
      list = key;
    } else {
      data[key] = scalar(value);
      list = null;
    }
  }
  return { data, body: match[2] };
}

const folder = process.argv[2] || '.';
const pages = readdirSync(folder)
  .filter((name) => name.endsWith('.md') && statSync(join(folder, name)).isFile())
  .map((name) => {
    const { data, body } = frontMatter(readFileSync(join(folder, name), { encoding: 'utf8' }));
    return {
      slug: basename(name, '.md'),
      ...data,
      words: body.split(/\s+/).filter(Boolean).length,
      excerpt: body.trim().slice(0, 20),
    };
  })
  .sort((a, b) => (b.date ?? 0) - (a.date ?? 0));
console.log(JSON.stringify(pages, null, 2));
console.log(pages);
const tags = Object.groupBy(
  pages.flatMap((page) => page.tags ?? []),
  (tag) => tag,
);
console.log(
  Object.entries(tags)
    .map(([tag, all]) => `${tag} (${all.length})`)
    .join(', '),
);
