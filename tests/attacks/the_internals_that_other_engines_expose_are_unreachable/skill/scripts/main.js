const Module = require('node:module');
const vm = require('node:vm');

async function attempt(what, act) {
  try {
    const value = await act();
    console.log(`${what}: ${typeof value === 'function' ? 'a function' : value === globalThis ? 'globalThis' : String(value)}`);
  } catch (error) {
    console.log(`${what}: ${error.name} ${error.code ?? error.message}`);
  }
}

(async () => {
  if (process.argv[2] === 'public') {
    await attempt('require', () => Object.keys(require('node:path').posix).length > 10);
    await attempt('_load', () => Module._load('node:path') === require('node:path'));
    await attempt('vm', () => vm.runInThisContext('1 + 1'));
    await attempt('Function', () => Function('a', 'return a + 1')(1));
    await attempt('getBuiltinModule', () => process.getBuiltinModule('fs') === require('node:fs'));
    return;
  }
  for (const name of ['fs', 'natives', 'config', 'util', 'spawn_sync', 'os']) await attempt(`process.binding ${name}`, () => process.binding(name));
  await attempt('_linkedBinding', () => process._linkedBinding('fs'));
  await attempt('dlopen', () => process.dlopen({ exports: {} }, '/skill/scripts/addon.node'));
  await attempt('an addon', () => require('./addon.node'));
  for (const name of ['internal/bootstrap/realm', 'internal/binding', 'node:internal/fs', 'binding', 'node:binding', 'std', 'os:', 'qjs:std', 'qjs:os', 'std.js', 'node:std']) {
    await attempt(`require ${name}`, () => require(name));
    await attempt(`import ${name}`, () => import(name));
    await attempt(`_load ${name}`, () => Module._load(name));
    await attempt(`getBuiltinModule ${name}`, () => process.getBuiltinModule(name));
  }
  for (const name of ['$binding', 'binding', 'primordials', 'internalBinding', 'std', 'os', 'bjson', 'scriptArgs', '__loadScript', 'print', 'gc', 'WebAssembly']) {
    await attempt(`a global ${name}`, () => typeof (0, eval)(`typeof ${name} === 'undefined' ? undefined : ${name}`));
  }
  await attempt('Function', () => Function('return this')());
  await attempt('indirect eval', () => (0, eval)('this'));
  await attempt('the constructor of a builtin', () => require('node:fs').readFileSync.constructor('return this')());
  await attempt('the constructor of an asynchronous builtin', () => Object.getPrototypeOf(require('node:fs').promises.readFile).constructor('return this')());
  await attempt('vm this', () => vm.runInThisContext('this'));
  await attempt('vm new context', () => typeof vm.runInNewContext('typeof process'));
  await attempt('caller', () => (function f() { return f.caller; })());
  await attempt('callee', () => (function () { return arguments.callee.caller; })());
  await attempt('main', () => process.mainModule === require.main);
  await attempt('parent', () => module.parent);
  await attempt('extensions', () => Object.keys(require.extensions).join());
  await attempt('a wrapper', () => Module.wrapper?.join('|'));
})();
