// The names that a CommonJS module exports, as far as its text tells: what Node lets `import { name }` have.

import { builtin, builtinName } from './builtins.js';
import { formatOf, sourceOf } from './formats.js';
import { modulePaths, resolveRequire } from './resolve.js';
import posix from '../../modules/path.js';

// By `require`, for the package's parser in JavaScript; `import` gives one in WebAssembly.
const { parse } = require('cjs-module-lexer');

const { dirname } = posix;
const { keys } = Object;

function collect(file, names, seen) {
  if (seen.has(file)) return;
  seen.add(file);
  const source = sourceOf(file);
  if (formatOf(source) !== 'commonjs') return;
  let found;
  try {
    found = parse(source.text ?? source.original);
  } catch {
    return;
  }
  for (const name of found.exports) names.add(name);
  for (const specifier of found.reexports) {
    const name = builtinName(specifier);
    if (name !== undefined) {
      for (const key of keys(builtin(name))) names.add(key);
      continue;
    }
    try {
      collect(resolveRequire(specifier, file, modulePaths(dirname(file)), []), names, seen);
    } catch {
      // It fails again, and is then seen, when the module runs.
    }
  }
}

export function exportNames(file) {
  const names = new Set();
  collect(file, names, new Set());
  return [...names];
}
