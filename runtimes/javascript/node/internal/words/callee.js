// The text of an expression in a line of a script, as V8 prints it in its messages.

const WORD = /[\p{ID_Continue}$]/u;
const OPENING = { ')': '(', ']': '[' };

/** Where the bracket is that closes at `end`; -1 if not in this line. */
function opening(line, end) {
  let depth = 0;
  for (let i = end; i >= 0; i--) {
    if (line[i] === ')' || line[i] === ']') depth++;
    else if (line[i] === '(' || line[i] === '[') depth--;
    if (depth === 0) return line[i] === OPENING[line[end]] ? i : -1;
  }
  return -1;
}

function wordBefore(line, end) {
  let start = end;
  while (start > 0 && WORD.test(line[start - 1])) start--;
  return line.slice(start, end);
}

/** What stands before `end`, as far as it belongs to the same expression. */
function before(line, end) {
  const last = line[end - 1];
  if (last === ')') {
    const open = opening(line, end - 1);
    const callee = open > 0 ? before(line, open) : '';
    return callee ? `${callee}(...)` : '(intermediate value)';
  }
  if (last === ']') {
    const open = opening(line, end - 1);
    const holder = open > 0 ? before(line, open) : '';
    const index = line.slice(open + 1, end - 1);
    return holder && /^[\w$.'"]+$/.test(index) ? `${holder}[${index}]` : '(intermediate value)';
  }
  const word = wordBefore(line, end);
  if (!word) return '';
  return `${chain(line, end - word.length)}${word}`;
}

/** `a.b.` for what comes before a name. */
function chain(line, start) {
  const match = /\s*(\?\.|\.)\s*$/.exec(line.slice(0, start));
  if (!match) return '';
  const holder = before(line, match.index);
  return `${holder || '(intermediate value)'}${match[1]}`;
}

/** The callee of a call that V8 and the engine place at `column` (from 1): a name with what it is a property of. */
export function calleeAt(line, column) {
  let end = column - 1;
  while (end < line.length && WORD.test(line[end])) end++;
  if (end === column - 1) {
    const text = before(line, line[end] === '(' || line[end] === '[' ? end : column - 1);
    return text || '(intermediate value)';
  }
  let text = `${chain(line, column - 1)}${line.slice(column - 1, end)}`;
  // An element of it may be what is called.
  for (let open = end; line[open] === '['; ) {
    const close = line.indexOf(']', open);
    if (close < 0) break;
    text += line.slice(open, close + 1);
    open = close + 1;
  }
  return text;
}
