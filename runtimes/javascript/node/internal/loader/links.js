// An import of a name that a module does not export: which statement that is, since the engine does not tell.

import { findSource, sourceLine } from '../sources.js';

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** The statement that imports `name` from a module whose name ends like a specifier: where, and the specifier. */
function statement(name, module) {
  const clause = new RegExp(`(?:import|export)\\b[^;'"]*?\\b(${escaped(name)})\\b[^;'"]*?from\\s*(['"])(.*?)\\2`, 'd');
  return findSource((file, text) => {
    if (!file.startsWith('file:')) return undefined;
    const match = clause.exec(text);
    if (!match) return undefined;
    const specifier = match[3];
    const last = specifier.replace(/^node:/, '').split('/').pop().replace(/\.\w+$/, '');
    // The engine cuts long names.
    if (module.length < 60 && !module.includes(last)) return undefined;
    const [start] = match.indices[1];
    const line = text.slice(0, start).split('\n').length;
    return { file, line, column: start - text.lastIndexOf('\n', start - 1), specifier };
  });
}

/** How the importing module calls `module`. */
export function specifierOf(name, module) {
  return statement(name, module)?.specifier ?? module;
}

/** Puts the statement in front of the stack, as Node prints it. Returns the error. */
export function decorateLink(error) {
  const match = error instanceof SyntaxError && /^The requested module '(.*)' does not provide an export named '(.*)'$/.exec(error.message);
  const found = match ? statement(match[2], match[1]) : undefined;
  if (!found) return error;
  const { file, line, column } = found;
  error.stack = `${file}:${line}\n${sourceLine(file, line)}\n${' '.repeat(column - 1)}${'^'.repeat(match[2].length)}\n${error.stack}`;
  return error;
}
