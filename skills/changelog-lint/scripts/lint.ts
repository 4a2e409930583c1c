#!/usr/bin/env -S npx tsx
/**
 * Checks changelogs in the format of Keep a Changelog.
 *
 * Usage: lint.ts [FILE...] [--json] [--links]
 */

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Changelog, type Problem } from './rules';

type Found = Problem & { file: string };

function main(): number {
  const { values, positionals } = parseArgs({
    options: { json: { type: 'boolean' }, links: { type: 'boolean' } },
    allowPositionals: true,
  });
  const files = positionals.length > 0 ? positionals : ['CHANGELOG.md'];
  const found: Found[] = [];
  for (const file of files) {
    const text = readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
    const problems = new Changelog(values.links ?? false).check(text);
    found.push(...problems.map((problem) => ({ file, ...problem })));
  }
  if (values.json) console.log(JSON.stringify(found, null, 2));
  else for (const { file, line, message } of found) console.log(`${file}:${line}: ${message}`);
  return found.length > 0 ? 1 : 0;
}

try {
  process.exitCode = main();
} catch (error) {
  const { code, message, path } = error as NodeJS.ErrnoException;
  const badArguments = code?.startsWith('ERR_PARSE_ARGS');
  if (!path && !badArguments) throw error;
  console.error(`lint.ts: ${path ? `${path}: ${code}` : message}`);
  process.exitCode = 2;
}
