// Errors of the parser, shown as Node shows them: the place and the line come before the message, in the stack itself.

import { sourceLine } from '../sources.js';
import { excerpt } from '../uncaught.js';

const PLACE = /^ {4}at (.*):(\d+):(\d+)$/m;

/** `line:column` of what a parser stopped at. */
export function placeOf(error) {
  const match = error instanceof SyntaxError && typeof error.stack === 'string' ? PLACE.exec(error.stack) : null;
  return match ? `${match[2]}:${match[3]}` : undefined;
}

/** The engine stops behind some words that V8 points at. */
function columnOf(error, name, line, column) {
  const before = sourceLine(name, line)?.slice(0, column - 1) ?? '';
  const word = /^Identifier '(.*)' has already been declared$/.exec(error.message)?.[1];
  if (word) return before.lastIndexOf(word) + 1 || column;
  if (error.message === 'Unexpected number') return (/[\w.]+$/.exec(before)?.index ?? column - 1) + 1;
  return column;
}

/** Puts the place of a SyntaxError of `name` in front of its stack. Returns the error. */
export function decorate(error, name) {
  if (!(error instanceof SyntaxError) || typeof error.stack !== 'string') return error;
  const match = PLACE.exec(error.stack);
  if (!match || match[1] !== name) return error;
  const shown = excerpt([match[1], Number(match[2]), columnOf(error, match[1], Number(match[2]), Number(match[3]))]);
  if (shown) error.stack = `${shown}\n${error.stack.replace(`${match[0]}\n`, '').replace(`\n${match[0]}`, '')}`;
  return error;
}
