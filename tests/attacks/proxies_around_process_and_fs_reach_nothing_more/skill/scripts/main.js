const fs = require('node:fs');

function attempt(what, act) {
  try {
    console.log(`${what}: ${act()}`);
  } catch (error) {
    console.log(`${what}: ${error.name} ${error.code ?? error.message}`);
  }
}

const path = process.argv[2];
const traps = [];
const handler = {
  get: (target, key, receiver) => (traps.push(String(key)), Reflect.get(target, key, receiver)),
  apply: (target, self, all) => (traps.push('call'), Reflect.apply(target, self, all)),
};
const wrapped = new Proxy(fs, handler);
attempt('fs in a proxy', () => wrapped.readFileSync(path, 'utf8'));
attempt('a function in a proxy', () => new Proxy(fs.readFileSync, handler)(path, 'utf8'));
attempt('a path that changes', () => {
  let asked = 0;
  return fs.readFileSync({ toString: () => (asked++ ? path : 'SKILL.md') }, 'utf8');
});
attempt('a Buffer path that changes', () => {
  const bytes = Buffer.from('SKILL.md'.padEnd(path.length, 'x'));
  return fs.readFileSync(bytes, { get encoding() { bytes.write(path); return 'utf8'; } });
});
attempt('a URL that lies', () => {
  const url = new URL('file:///skill/SKILL.md');
  Object.defineProperty(url, 'pathname', { value: path });
  return fs.readFileSync(url, 'utf8').split('\n').length;
});
attempt('a thing that looks like a URL', () => fs.readFileSync({ href: `file://${path}`, protocol: 'file:', pathname: path, hostname: '', __proto__: URL.prototype }, 'utf8'));
attempt('cwd replaced', () => {
  const { cwd } = process;
  process.cwd = () => '/etc';
  try {
    return fs.readFileSync('passwd', 'utf8');
  } finally {
    process.cwd = cwd;
  }
});
attempt('chdir out', () => process.chdir('/etc'));
attempt('env in a proxy', () => new Proxy(process.env, handler).SKILLRUN_TEST_SECRET);
attempt('env with another prototype', () => Object.setPrototypeOf(process.env, new Proxy({}, { get: () => undefined })).SKILLRUN_TEST_SECRET);
attempt('env of a getter', () => Object.defineProperty(process.env, 'x', { get: () => 'y' }).x);
attempt('process in a proxy', () => new Proxy(process, handler).env.SKILLRUN_TEST_SECRET);
attempt('a descriptor of none', () => fs.readSync(new Proxy({}, handler), Buffer.alloc(1)));
attempt('a descriptor that was never opened', () => fs.readSync(77, Buffer.alloc(1)));
for (const fd of [3, 4, 5]) attempt(`the directory descriptor ${fd}`, () => fs.readSync(fd, Buffer.alloc(1)));
attempt('process replaced', () => {
  globalThis.process = new Proxy(process, handler);
  console.log('printed through the old one');
  return typeof process.exit;
});
console.log('traps ran:', traps.length > 3);
