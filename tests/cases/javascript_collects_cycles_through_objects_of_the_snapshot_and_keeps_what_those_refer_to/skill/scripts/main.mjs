// Ties objects of its own to objects that exist before every script, and lets go of them.
const kept = new WeakRef((globalThis.keeper = { value: 'kept' }));
const weak = new WeakMap();
const map = new Map([[Object, new Array(3)], ['a', Array.prototype]]);
function make() {
  const one = { name: 'one' };
  const two = { one, old: Map.prototype, table: map };
  one.two = two;
  one.self = () => one;
  weak.set(Object, two);
  weak.set(one, Object);
  weak.delete(Object);
  Promise.prototype.tied = one;
  delete Promise.prototype.tied;
  return new WeakRef(one);
}
const gone = make();
const finalised = [];
const registry = new FinalizationRegistry((held) => finalised.push(held));
(() => {
  const cycle = {};
  cycle.self = cycle;
  registry.register(cycle, 'a value');
})();
// Makes cycles until the collector has run.
async function collect(isDone) {
  for (let round = 0; round < 200 && !isDone(); round++) {
    for (let i = 0; i < 5_000; i++) {
      const cycle = { list: new Array(100).fill(i) };
      cycle.self = cycle;
    }
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}
await collect(() => gone.deref() === undefined && finalised.length > 0);
console.log(kept.deref().value, gone.deref(), finalised, map.size, weak.has(Object));
globalThis.keeper = undefined;
await collect(() => kept.deref() === undefined);
console.log(kept.deref(), [...map.keys()].length, map.get('a') === Array.prototype);
