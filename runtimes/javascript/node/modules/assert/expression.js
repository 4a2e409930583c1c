// The text of the call that failed, for `assert.ok(x > 1)` without a message.

import { sourceLine } from '../../internal/sources.js';

const FRAME = /^ {4}at (?:.*\()?(?:file:\/\/)?(.*?):(\d+):(\d+)\)?$/;

/** The expression at the first frame of `stack`; `undefined` if its source is not known. */
export function failedExpression(stack) {
  const frame = FRAME.exec(`${stack}`.split('\n').find((line) => line.startsWith('    at ')) ?? '');
  if (!frame) return undefined;
  const [, file, line, column] = frame;
  const first = sourceLine(file, +line) ?? sourceLine(`file://${file}`, +line);
  if (first === undefined) return undefined;
  // The call begins at or before the place that the frame names.
  const opening = /[\w$]+(?:\s*\??\.\s*[\w$]+)*\s*\(/g;
  let start = -1;
  for (let match = opening.exec(first); match && match.index < +column; match = opening.exec(first)) {
    if (match.index + match[0].length >= +column || start === -1) start = match.index;
  }
  if (start === -1) return undefined;
  return balanced(first.slice(start));
}

/** Up to the bracket that closes the first one, as far as this one line has it. */
function balanced(text) {
  let depth = 0;
  let quote = '';
  for (let index = 0; index < text.length; index++) {
    const char = text[index];
    if (quote) {
      if (char === '\\') index++;
      else if (char === quote) quote = '';
    } else if (char === '"' || char === "'" || char === '`') {
      quote = char;
    } else if ('([{'.includes(char)) {
      depth++;
    } else if (')]}'.includes(char) && --depth === 0) {
      return text.slice(0, index + 1);
    }
  }
  return text;
}
