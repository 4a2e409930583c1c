const fs = require('node:fs');
const { walk } = require('./walk.js');
const { defineProperty } = Reflect;

const passed = [];
const names = ['encoding', 'flag', 'mode', 'code', 'errno', 'path', 'fd', 'then', 'type', 'exports', 'main', 'signal', 'length', 'name', 'message',
  'stack', 'cause', 'next', 'done', 'domain', 'handler', 'callback', 'ino', 'size', 'kind', 'format', 'url', 'transpile', 'writeText', 'stat', 'open', 'imports'];
if (process.argv[2] === 'pollute') {
  for (const name of names) {
    defineProperty(Object.prototype, name, {
      configurable: true,
      get() {
        if (passed.length < 20000) passed[passed.length] = this;
        return undefined;
      },
      set(value) {
        if (passed.length < 20000) passed[passed.length] = value;
        defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true });
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
  await attempt('stat', () => fs.statSync('/tmp/a').isFile());
  await attempt('missing', () => fs.readFileSync('/nowhere'));
  await attempt('promises', () => fs.promises.readFile('/tmp/a', 'utf8'));
  await attempt('outside', () => fs.promises.readFile('../outside', 'utf8'));
  await attempt('require', () => require('./helper.js').answer);
  await attempt('import', async () => (await import('./helper.mjs')).answer);
  await attempt('timer', () => new Promise((done) => setTimeout(done, 1, 'timer')));
  await attempt('url', () => new URL('file:///tmp/../a').pathname);
  await attempt('inspect', () => require('node:util').inspect({ a: [1] }));
  await attempt('a process', () => require('node:child_process').execSync('id'));
  for (const name of names) delete Object.prototype[name];
  const { found } = walk({ passed });
  console.log('pollution was met:', passed.length > 0, 'the engine\'s own:', found.length);
  for (const path of found.slice(0, 5)) console.log(path);
})();
