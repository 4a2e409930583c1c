// The modules that come with Node.

import { modules } from '../../modules/index.js';

const { hasOwn, keys } = Object;

/** Modules that are had with the prefix `node:` only. */
const PREFIXED = ['sea', 'sqlite', 'test', 'test/reporters'];

const table = { __proto__: null };

export function addBuiltins(more) {
  Object.assign(table, more);
}
addBuiltins(modules);

/** The name of a builtin without `node:`; undefined if the specifier names none. */
export function builtinName(specifier) {
  if (specifier.startsWith('node:')) {
    const name = specifier.slice(5);
    return hasOwn(table, name) ? name : undefined;
  }
  return hasOwn(table, specifier) && !PREFIXED.includes(specifier) ? specifier : undefined;
}

export const builtin = (name) => table[name];

export const builtinNames = () => keys(table).map((name) => (PREFIXED.includes(name) ? `node:${name}` : name)).sort();
