// What Node prints for an exception that nobody caught: the place, the line, a caret, the error, the version.

import { binding } from './binding.js';
import { sourceLine } from './sources.js';
import { inspect } from '../modules/util/inspect.js';
import { VERSION } from './version.js';

const FRAME = /^ {4}at (?:.* \()?((?:file:\/\/)?\/.*?):(\d+):(\d+)\)?$/;

/** [file, line, column] of the first frame of a stack that is a file's. */
function firstFrame(stack) {
  if (typeof stack !== 'string') return undefined;
  const lines = stack.split('\n');
  for (let i = 0; i < lines.length; i++) {
    const match = FRAME.exec(lines[i]);
    if (match) return [match[1], Number(match[2]), Number(match[3])];
  }
  return undefined;
}

/** `file:line`, the line and a caret under the column, each ending in a newline; or an empty text. */
export function excerpt(place) {
  if (!place) return '';
  const [file, line, column] = place;
  const text = sourceLine(file, line);
  if (text === undefined) return '';
  // Under tabs the caret is moved by tabs.
  const indent = text.slice(0, column - 1).replace(/[^\t]/g, ' ');
  return `${file}:${line}\n${text}\n${indent}^\n`;
}

/** With `throw new Error(…)` the frame is at `new`; the caret goes under `throw`. */
function throwColumn(place) {
  const [file, line, column] = place;
  const before = sourceLine(file, line)?.slice(0, column - 1);
  const match = before && /\bthrow\s+$/.exec(before);
  return match ? [file, line, match.index + 1] : place;
}

const isError = (value) => value instanceof Error || binding.className(value) === 'Error';

function describe(error, wasThrown) {
  const thrown = wasThrown ? binding.thrownAt(error) : undefined;
  if (!isError(error)) {
    const head = thrown ? `\n${excerpt(throwColumn(thrown))}` : 'Uncaught:\n';
    const text = typeof error === 'string' ? error : inspect(error);
    const hint = error !== null && typeof error === 'object' ? '' : '(Use `node --trace-uncaught ...` to show where the exception was thrown)\n';
    return `${head}${text}\n${hint}`;
  }
  const { stack } = error;
  const place = thrown ?? firstFrame(stack);
  const text = inspect(error);
  // The loader puts the place in front of the stack of what does not parse.
  if (typeof stack === 'string' && error.name === 'SyntaxError' && /^(file:\/\/)?\/.*:\d+\n/.test(stack)) return `${text}\n`;
  const head = place ? excerpt(wasThrown ? throwColumn(place) : place) : '';
  return `${head && `${head}\n`}${text}\n`;
}

export function printUncaught(error, wasThrown) {
  let text;
  try {
    text = describe(error, wasThrown);
  } catch {
    text = 'Uncaught exception, and it cannot be shown\n';
  }
  binding.writeText(2, `${text}\nNode.js v${VERSION}\n`);
}
