// Walks everything that a value leads to and returns where one of the engine's own functions was found.

// The layer calls these functions of the engine by names that no Node module offers.
const OWN = new Set(['writeText', 'thrownAt', 'takeOverStacks', 'setMain', 'setHooks', 'runJobs', 'importNow',
  'hashUpdate', 'hashNew', 'hashDigest', 'hashCopy', 'evalScript', 'checkScript', 'enqueueMicrotask', 'ownNonIndex',
  'previewEntries', 'proxyDetails', 'promiseDetails', 'transpile', '$binding']);

// Saved before any script patches them.
const { ownKeys, getOwnPropertyDescriptor, getPrototypeOf, apply } = Reflect;

exports.walk = function walk(roots) {
  const seen = new Set();
  const queue = [];
  const found = [];
  const add = (value, path) => {
    if (value === null || (typeof value !== 'object' && typeof value !== 'function') || seen.has(value)) return;
    seen.add(value);
    queue.push([value, path]);
  };
  for (const [path, value] of Object.entries(roots)) add(value, path);
  while (queue.length > 0) {
    const [value, path] = queue.pop();
    if (typeof value === 'function' && OWN.has(value.name)) found.push(path);
    let keys;
    try {
      keys = ownKeys(value);
      add(getPrototypeOf(value), `${path}.__proto__`);
    } catch {
      continue;
    }
    if (ArrayBuffer.isView(value)) keys = [];
    for (const key of keys) {
      const at = `${path}.${String(key)}`;
      if (OWN.has(key)) found.push(at);
      const property = getOwnPropertyDescriptor(value, key);
      if (!property) continue;
      add(property.value, at);
      add(property.get, `${at} (get)`);
      add(property.set, `${at} (set)`);
      try {
        if (property.get) add(apply(property.get, value, []), at);
      } catch {
        // Its receiver is a prototype.
      }
    }
    if (value instanceof Map) for (const [key, member] of value) add(key, `${path} key`), add(member, `${path} value`);
    if (value instanceof Set) for (const member of value) add(member, `${path} member`);
  }
  return { visited: seen.size, found };
};
