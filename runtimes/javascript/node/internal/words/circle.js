// Which properties make a structure circular, in V8's words.

const { keys } = Object;

const nameOf = (object) => {
  const name = object.constructor?.name;
  return name ? `object with constructor '${name}'` : 'object with null prototype';
};
const step = (holder, key) => (Array.isArray(holder) ? `index ${key}` : `property '${key}'`);

/** The path from an object that comes again to the place where it does: [{ object, key }]. */
function findCircle(value, path) {
  const object = typeof value?.toJSON === 'function' ? value.toJSON() : value;
  if (object === null || typeof object !== 'object' || path.length > 1000) return undefined;
  for (let i = 0; i < path.length; i++) if (path[i].object === object) return path.slice(i);
  for (const key of keys(object)) {
    path.push({ object, key });
    const found = findCircle(object[key], path);
    if (found) return found;
    path.pop();
  }
  return undefined;
}

export function circleWords(value) {
  const circle = findCircle(value, []);
  if (!circle) return undefined;
  const lines = [`    --> starting at ${nameOf(circle[0].object)}`];
  const steps = circle.slice(0, -1).map(({ object, key }, i) => `    |     ${step(object, key)} -> ${nameOf(circle[i + 1].object)}`);
  if (steps.length > 2) steps.splice(1, steps.length - 2, '    |     ...');
  const last = circle[circle.length - 1];
  return `Converting circular structure to JSON\n${[...lines, ...steps].join('\n')}\n    --- ${step(last.object, last.key)} closes the circle`;
}
