#!/usr/bin/env node
// Selects values from JSON by a path and prints them.

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { BadPath, parsePath, select } from './path.mjs';

const USAGE = 'usage: query.mjs PATH [FILE...] [--lines] [--raw] [--pretty] [--count]';

/** What the caller did wrong; shown without a stack. */
class InputError extends Error {}

function readArguments() {
  const options = { lines: {}, raw: {}, pretty: {}, count: {}, help: { short: 'h' } };
  for (const option of Object.values(options)) option.type = 'boolean';
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    const [path, ...files] = positionals;
    return { ...values, path, files: files.length > 0 ? files : ['-'] };
  } catch (error) {
    throw new InputError(error.message);
  }
}

function read(file) {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new InputError(`${file}: ${error.code ?? error.message}`);
  }
}

function parse(text, position) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InputError(`${position}: ${error.message}`);
  }
}

function* values(file, lines) {
  const text = read(file).replace(/^\uFEFF/, '');
  if (!lines) {
    yield parse(text, file);
    return;
  }
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() !== '') yield parse(line, `${file}:${index + 1}`);
  }
}

function main() {
  const { path, files, lines, raw, pretty, count, help } = readArguments();
  if (help) {
    console.log(USAGE);
    return 0;
  }
  if (path === undefined) throw new InputError(USAGE);
  const steps = parsePath(path);
  let matches = 0;
  for (const file of files) {
    for (const value of values(file, lines)) {
      for (const match of select(value, steps)) {
        matches += 1;
        if (count) continue;
        const plain = raw && typeof match === 'string';
        console.log(plain ? match : JSON.stringify(match, null, pretty ? 2 : 0));
      }
    }
  }
  if (count) console.log(matches);
  return matches > 0 ? 0 : 1;
}

try {
  process.exitCode = main();
} catch (error) {
  if (!(error instanceof InputError || error instanceof BadPath)) throw error;
  console.error(`query.mjs: ${error.message}`);
  process.exitCode = 2;
}
