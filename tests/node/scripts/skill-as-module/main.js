#!/usr/bin/env node
// An ESM package with a dependency in node_modules, its own import names and JSON.
import parse from 'tiny-args';
import { table } from '#format';
import pkg from './package.json' with { type: 'json' };
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const options = parse(process.argv.slice(2));
console.log(`${pkg.name} ${options.name ?? 'nobody'}`, options);
console.log(
  table([
    ['name', 'type'],
    [pkg.name, pkg.type],
  ]),
);
const source = await readFile(join(here, 'src', 'format.js'), 'utf8');
console.log(
  source.split('\n').length,
  here === import.meta.dirname,
  process.argv[1] === fileURLToPath(import.meta.url),
);
const { default: lazy } = await import('./src/lazy.js');
console.log(await lazy(3));
if (options.fail) process.exit(Number(options.fail));
