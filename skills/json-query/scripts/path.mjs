// Paths such as `users[*].name`: reading them, and following them into a value.

/** A path that cannot be read. */
export class BadPath extends Error {}

const STEP = /\.\.(?<deep>[\w$-]+)|\.?(?<name>[\p{ID_Start}$_][\p{ID_Continue}$-]*)|\.?(?<every>\*)|\[(?<inside>\*|-?\d+|"(?:[^"\\]|\\.)*")\]/uy;

/** The steps of a path, each a function from a value to the values it leads to. */
export function parsePath(text) {
  if (text === '.' || text === '') return [];
  const steps = [];
  STEP.lastIndex = 0;
  while (STEP.lastIndex < text.length) {
    const at = STEP.lastIndex;
    const found = STEP.exec(text);
    // After the first step a name needs its dot.
    const joined = at > 0 && found?.groups.name && text[at] !== '.';
    if (!found || joined) throw new BadPath(`invalid path at \`${text.slice(at)}\``);
    steps.push(step(found.groups));
  }
  return steps;
}

/** The values that a path leads to. */
export function* select(value, steps, from = 0) {
  if (from === steps.length) {
    yield value;
    return;
  }
  for (const next of steps[from](value)) yield* select(next, steps, from + 1);
}

function step({ deep, name, every, inside }) {
  if (deep !== undefined) return (value) => descend(value, deep);
  if (every !== undefined || inside === '*') return children;
  if (name !== undefined) return (value) => member(value, name);
  if (inside.startsWith('"')) {
    const key = unquote(inside);
    return (value) => member(value, key);
  }
  return (value) => element(value, Number(inside));
}

function unquote(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new BadPath(`\`${text}\` is not a JSON string`);
  }
}

const isObject = (value) => typeof value === 'object' && value !== null;

function member(value, key) {
  const there = isObject(value) && !Array.isArray(value) && Object.hasOwn(value, key);
  return there ? [value[key]] : [];
}

function element(value, at) {
  if (!Array.isArray(value)) return [];
  const index = at < 0 ? value.length + at : at;
  return index in value ? [value[index]] : [];
}

function children(value) {
  return isObject(value) ? Object.values(value) : [];
}

// Without recursion: JSON may nest deeper than a stack.
function* descend(value, key) {
  const waiting = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    yield* member(next, key);
    for (const child of children(next).reverse()) waiting.push(child);
  }
}
