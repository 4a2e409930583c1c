// util.styleText.

import process from '../process.js';
import { invalidArgType, invalidArgValue } from '../../internal/errors.js';
import { validateBoolean, validateObject, validateOneOf, validateString } from '../../internal/validators.js';
import { colors } from './inspect_styles.js';

const HEX = /^#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/;
const HEX_CLOSE = '\u001b[39m';

/** Whether output to `stream` may carry colours: the environment decides, then the terminal. */
export function shouldColorize(stream) {
  const { env } = process;
  if (env.FORCE_COLOR !== undefined) return ['', '1', 'true', '2', '3'].includes(env.FORCE_COLOR);
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== '') return false;
  if (env.NODE_DISABLE_COLORS !== undefined && env.NODE_DISABLE_COLORS !== '') return false;
  return Boolean(stream?.isTTY) && (typeof stream.getColorDepth === 'function' ? stream.getColorDepth() > 2 : true);
}

function isStream(value) {
  if (value === null || typeof value !== 'object') return false;
  return Boolean(
    value._readableState ||
    value._writableState ||
    typeof value.pipe === 'function' ||
    (typeof value.write === 'function' && typeof value.on === 'function') ||
    typeof value.getReader === 'function' ||
    typeof value.getWriter === 'function',
  );
}

/** Where an inner style ends, the outer one is opened again. */
function reopen(text, open, close, keepClose) {
  if (!text.includes(close)) return text;
  const parts = text.split(close);
  const last = parts.pop();
  // A close at the very end needs nothing after it.
  if (last === '') return parts.join(keepClose ? close + open : open) + close;
  return [...parts, last].join(keepClose ? close + open : open);
}

function codesFor(key) {
  if (typeof key === 'string' && key[0] === '#') {
    if (!HEX.test(key)) throw invalidArgValue('format', key, 'must be a valid hex color (#RGB or #RRGGBB)');
    const digits = key.length === 4 ? [...key.slice(1)].map((digit) => digit + digit) : key.slice(1).match(/../g);
    const [red, green, blue] = digits.map((pair) => parseInt(pair, 16));
    return { open: `\u001b[38;2;${red};${green};${blue}m`, close: HEX_CLOSE, keepClose: false };
  }
  const codes = colors[key];
  if (!codes) validateOneOf(key, 'format', Object.getOwnPropertyNames(colors));
  // Bold and dim share the code that ends them.
  return { open: `\u001b[${codes[0]}m`, close: `\u001b[${codes[1]}m`, keepClose: codes[0] === 1 || codes[0] === 2 };
}

export function styleText(format, text, options) {
  const validateStream = options?.validateStream ?? true;
  validateString(text, 'text');
  if (options !== undefined) validateObject(options, 'options');
  validateBoolean(validateStream, 'options.validateStream');
  let skip = false;
  if (validateStream) {
    const stream = options?.stream ?? process.stdout;
    if (!isStream(stream)) throw invalidArgType('stream', ['ReadableStream', 'WritableStream', 'Stream'], stream);
    skip = !shouldColorize(stream);
  }
  let before = '';
  let after = '';
  let styled = text;
  for (const key of Array.isArray(format) ? format : [format]) {
    if (key === 'none') continue;
    const { open, close, keepClose } = codesFor(key);
    before += open;
    after = close + after;
    styled = reopen(styled, open, close, keepClose);
  }
  return skip ? text : `${before}${styled}${after}`;
}
