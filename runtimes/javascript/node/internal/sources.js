// The text of the files that ran, for the lines above an uncaught error. Kept by reference: strings are shared.

const sources = new Map();
const { get, set } = Map.prototype;
const { apply } = Reflect;

/** `name` is what stack frames call the file. */
export function rememberSource(name, text) {
  apply(set, sources, [name, text]);
}

/** Calls `f(name, text)` for each file, the last one first, until it answers something. */
export function findSource(f) {
  const entries = [...sources].reverse();
  for (const [name, text] of entries) {
    const found = f(name, text);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Line `number` (from 1) of a file that ran; undefined if there is none. */
export function sourceLine(name, number) {
  const text = apply(get, sources, [name]);
  if (text === undefined) return undefined;
  let start = 0;
  for (let line = 1; line < number; line++) {
    const end = text.indexOf('\n', start);
    if (end < 0) return undefined;
    start = end + 1;
  }
  const end = text.indexOf('\n', start);
  const line = text.slice(start, end < 0 ? text.length : end);
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}
