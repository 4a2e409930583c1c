const fs = require('node:fs');
const { EventEmitter } = require('node:events');
const { walk } = require('./walk.js');
const { apply, ownKeys, getOwnPropertyDescriptor, defineProperty } = Reflect;
const write = console.log;

// Everything that passes through a patched builtin.
const passed = [];
const patched = [];
let calls = 0;
function patch(owner, label) {
  for (const key of ownKeys(owner)) {
    const property = getOwnPropertyDescriptor(owner, key);
    if (key === 'constructor' || !property.configurable) continue;
    const spied = { ...property };
    for (const part of ['value', 'get', 'set']) {
      const original = property[part];
      if (typeof original !== 'function' || original.prototype) continue;
      spied[part] = function (...all) {
        calls++;
        if (passed.length < 20000) passed[passed.length] = [this, all];
        const result = apply(original, this, all);
        if (passed.length < 20000) passed[passed.length] = [result];
        return result;
      };
    }
    patched[patched.length] = [owner, key, property];
    defineProperty(owner, key, spied);
  }
}
const owners = { Object, Reflect, JSON, Math, Array, String, Number, Function, Promise, Map, Set, WeakMap, WeakSet, RegExp, Symbol, Date, Error, ArrayBuffer, Uint8Array };
const iterators = [[][Symbol.iterator](), new Map().entries(), new Set().values(), ''[Symbol.iterator](), (function* () {})()];

async function use() {
  const seen = [];
  fs.writeFileSync('/tmp/a', 'text');
  seen.push(fs.readFileSync('/tmp/a', 'utf8'), fs.statSync('/tmp/a').size, fs.readdirSync('/tmp').join());
  seen.push(await fs.promises.readFile('/tmp/a', 'utf8'));
  seen.push(require('./helper.js').answer, (await import('./helper.mjs')).answer);
  seen.push(new URL('file:///tmp/a').pathname, Buffer.from('text').toString('hex'));
  seen.push(await new Promise((done) => setTimeout(done, 1, 'timer')));
  seen.push(await new Promise((done) => process.nextTick(done, 'tick')));
  seen.push(await new Promise((done) => new EventEmitter().on('event', done).emit('event', 'event')));
  seen.push(require('node:util').inspect({ a: [1, new Map([[1, 2]])] }));
  seen.push(require('node:crypto').createHash('sha256').update('x').digest('hex').slice(0, 8));
  seen.push(process.env.SKILL_NAME, process.cwd() === __dirname.slice(0, -8), structuredClone({ a: 1 }).a);
  try {
    fs.readFileSync('/nowhere');
  } catch (error) {
    seen.push(error.code);
  }
  process.stdout.write('');
  return seen;
}

(async () => {
  const before = JSON.stringify(await use());
  delete require.cache[require.resolve('./helper.js')];
  if (process.argv[2] === 'patch') {
    for (const name of Object.keys(owners)) {
      const owner = owners[name];
      if (owner.prototype) patch(owner.prototype, name);
      patch(owner, name);
    }
    for (const iterator of iterators) patch(Object.getPrototypeOf(iterator), 'iterator');
  }
  const during = await use();
  for (const [owner, key, property] of patched.reverse()) defineProperty(owner, key, property);
  write('builtins patched:', patched.length > 400, 'calls seen:', calls > 100);
  write('the same results:', JSON.stringify(during) === before);
  const { visited, found } = walk({ passed });
  write('values visited:', visited > 1000, 'the engine\'s own:', found.length);
  for (const path of found.slice(0, 5)) write(path);
})();
