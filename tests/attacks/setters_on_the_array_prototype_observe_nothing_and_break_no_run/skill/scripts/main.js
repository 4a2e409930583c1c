const fs = require('node:fs');
const { walk } = require('./walk.js');
const { defineProperty } = Reflect;

const passed = new Set();
if (process.argv[2] === 'pollute') {
  for (const index of [0, 1, 2, 3]) {
    defineProperty(Array.prototype, index, {
      configurable: true,
      get() {
        passed.add(this);
        return undefined;
      },
      set(value) {
        passed.add(this).add(value);
        defineProperty(this, index, { value, writable: true, enumerable: true, configurable: true });
      },
    });
  }
}

async function attempt(what, act) {
  try {
    console.log(`${what}: ${await act()}`);
  } catch (error) {
    console.log(`${what}: ${error.name} ${error.code ?? error.message}`);
  }
}

(async () => {
  await attempt('write and read', () => (fs.writeFileSync('/tmp/a', 'text'), fs.readFileSync('/tmp/a', 'utf8')));
  await attempt('list', () => fs.readdirSync('/tmp').join());
  await attempt('missing', () => fs.readFileSync('/nowhere'));
  await attempt('promises', () => fs.promises.readFile('/tmp/a', 'utf8'));
  await attempt('require', () => require('./helper.js').answer);
  await attempt('import', async () => (await import('./helper.mjs')).answer);
  await attempt('timer', () => new Promise((done) => setTimeout(done, 1, 'timer')));
  await attempt('split and join', () => require('node:path').join('/a/b', '../c'));
  await attempt('inspect', () => require('node:util').inspect({ a: [1, [2]] }));
  await attempt('arguments', () => process.argv.length);
  for (const index of [0, 1, 2, 3]) delete Array.prototype[index];
  const { found } = walk({ passed });
  console.log('the engine\'s own:', found.length);
  for (const path of found.slice(0, 5)) console.log(path);
})();
