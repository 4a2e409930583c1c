// What Node prints for an exception that nobody caught: the place, the line, a caret, the error, the version.

import { binding } from './binding.js';
import { sourceLine } from './sources.js';
import { inspect } from '../modules/util/inspect.js';
import { VERSION } from './version.js';

const places = new WeakMap();
const { get, set } = WeakMap.prototype;
const { apply } = Reflect;

/** Where something was looked for: printed below the error if nobody catches it. */
export function rememberPlaces(error, list) {
  apply(set, places, [error, list]);
}

const emissions = new WeakMap();

/** Where an emitter was told of an error that nobody listens for: printed below the error's own stack. */
export function rememberEmission(error, emitter, emit) {
  const here = {};
  Error.captureStackTrace(here, emit);
  const frames = here.stack.split('\n').slice(1).join('\n');
  let name = '';
  try {
    name = emitter.constructor.name;
  } catch {
    // An emitter of the script's own making.
  }
  const on = name && name !== 'EventEmitter' ? ` on ${name} instance` : '';
  if (frames) apply(set, emissions, [error, `\nEmitted 'error' event${on} at:\n${frames}`]);
}

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

const isError = (value) => value instanceof Error || binding.className(value) === 'Error';

/** What inspecting an error gives, without the brackets around one that has no frames. */
function shown(error) {
  const emission = apply(get, emissions, [error]);
  if (emission && typeof error.stack === 'string') error.stack += emission;
  const text = inspect(error, { customInspect: false, depth: Infinity });
  const { stack } = error;
  return typeof stack === 'string' && text.startsWith(`[${stack}]`) ? stack + text.slice(stack.length + 2) : text;
}

function describe(error, thrown) {
  if (!isError(error)) {
    const head = `\n${thrown ? excerpt(thrown) : ''}`;
    const text = typeof error === 'string' ? error : inspect(error);
    const hint = error !== null && typeof error === 'object' ? '' : '(Use `node --trace-uncaught ...` to show where the exception was thrown)\n';
    return `${head}${text}\n${hint}`;
  }
  const { stack } = error;
  const text = shown(error);
  // The loader puts the place in front of the stack of what does not parse.
  if (typeof stack === 'string' && error.name === 'SyntaxError' && /^(file:\/\/)?\/.*:\d+\n/.test(stack)) return `${text}\n`;
  const head = excerpt(thrown ?? firstFrame(stack));
  const looked = apply(get, places, [error]);
  return `${head && `${head}\n`}${text}\n${looked ? `Looked in:\n- ${looked.join('\n- ')}\n` : ''}`;
}

/** `thrown` is where; undefined if that is not known. */
export function printUncaught(error, thrown) {
  let text;
  try {
    text = describe(error, thrown);
  } catch {
    text = 'Uncaught exception, and it cannot be shown\n';
  }
  binding.writeText(2, `${text}\nNode.js v${VERSION}\n`);
}
