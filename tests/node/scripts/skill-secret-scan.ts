#!/usr/bin/env bun
// Looks for strings that look like secrets: known shapes and high entropy.
import { readdirSync, readFileSync, type Dirent } from 'node:fs';
import { join } from 'node:path';
import { createHash } from 'node:crypto';

type Rule = { readonly id: string; readonly pattern: RegExp; readonly entropy?: number };
interface Finding {
  rule: Rule['id'];
  file: string;
  line: number;
  column: number;
  fingerprint: string;
  preview: string;
}

const rules = [
  { id: 'demo-key', pattern: /\b(DEMO[0-9A-Z]{16})\b/g },
  { id: 'private-key', pattern: /(-----BEGIN (?:DEMO )?KEY-----)/g },
  { id: 'generic', pattern: /(?:secret|token|password)["']?\s*[:=]\s*["']([^"'\s]{8,})["']/gi, entropy: 3.2 },
] as const satisfies readonly Rule[];

function entropy(text: string): number {
  const counts = new Map<string, number>();
  for (const c of text) counts.set(c, (counts.get(c) ?? 0) + 1);
  return [...counts.values()].reduce((sum, n) => sum - (n / text.length) * Math.log2(n / text.length), 0);
}

function* files(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true }).sort(
    (a: Dirent, b: Dirent) => Number(a.name > b.name) || -1,
  )) {
    if (entry.isDirectory()) yield* files(join(folder, entry.name));
    else yield join(folder, entry.name);
  }
}

const findings: Finding[] = [];
for (const file of files(process.argv[2] ?? '.')) {
  const buffer = readFileSync(file);
  if (buffer.includes(0)) {
    console.log(`skipped ${file} (binary, ${buffer.length} bytes)`);
    continue;
  }
  buffer
    .toString('utf8')
    .split('\n')
    .forEach((text, index) => {
      for (const { id, pattern, ...rest } of rules as readonly Rule[]) {
        for (const match of text.matchAll(pattern)) {
          const secret = match[1]!;
          if (rest.entropy && entropy(secret) < rest.entropy) continue;
          findings.push({
            rule: id,
            file,
            line: index + 1,
            column: match.index! + match[0].indexOf(secret) + 1,
            fingerprint: createHash('sha1').update(`${file}:${secret}`).digest('hex').slice(0, 12),
            preview: secret.slice(0, 4) + '*'.repeat(Math.min(secret.length - 4, 6)),
          });
        }
      }
    });
}
console.table(findings, ['rule', 'file', 'line', 'preview']);
for (const { rule, file, line, column, fingerprint } of findings)
  console.log(`${file}:${line}:${column}: ${rule} [${fingerprint}]`);
process.exitCode = Math.min(findings.length, 255);
