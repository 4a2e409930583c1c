#!/usr/bin/env node
'use strict';
// Bump the version in package.json: node bump.js [major|minor|patch|prerelease] [--preid=beta] [--dry-run]
const { readFileSync, writeFileSync, existsSync } = require('fs');
const { join } = require('path');

const [kind = 'patch'] = process.argv.slice(2).filter((arg) => !arg.startsWith('-'));
const preid = (process.argv.find((arg) => arg.startsWith('--preid=')) || '=beta').split('=')[1];
const file = join(process.cwd(), 'package.json');

function parse(version) {
  const match = /^(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?$/.exec(version);
  if (!match) throw new Error(`Invalid version: ${version}`);
  const [, major, minor, patch, pre] = match;
  return { major: +major, minor: +minor, patch: +patch, pre };
}

function bump(version, kind) {
  const v = parse(version);
  switch (kind) {
    case 'major':
      return `${v.major + 1}.0.0`;
    case 'minor':
      return `${v.major}.${v.minor + 1}.0`;
    case 'patch':
      return v.pre ? `${v.major}.${v.minor}.${v.patch}` : `${v.major}.${v.minor}.${v.patch + 1}`;
    case 'prerelease': {
      const [id, n] = (v.pre || '').split('.');
      return id === preid
        ? `${v.major}.${v.minor}.${v.patch}-${preid}.${Number(n) + 1}`
        : `${v.major}.${v.minor}.${v.patch + 1}-${preid}.0`;
    }
    default:
      throw new Error(`Unknown bump kind: ${kind}`);
  }
}

try {
  if (!existsSync(file)) throw new Error('package.json not found');
  const source = readFileSync(file, 'utf8');
  const indent = /^[ \t]+/m.exec(source)?.[0] ?? 2;
  const pkg = JSON.parse(source);
  const before = pkg.version;
  for (const each of ['major', 'minor', 'patch', 'prerelease'])
    console.log(`${each.padEnd(10)} ${before} -> ${bump(before, each)}`);
  pkg.version = bump(before, kind);
  writeFileSync(file, `${JSON.stringify(pkg, null, indent)}\n`);
  console.log(readFileSync(file, 'utf8'));
  bump(pkg.version, 'sideways');
} catch (err) {
  console.error(`error: ${err.message}`);
  process.exit(1);
}
