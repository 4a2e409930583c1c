const { builtinModules } = require('node:module');
const fs = require('node:fs');
const { walk } = require('./walk.js');

process.on('unhandledRejection', () => {});
const roots = { globalThis, require, module, exports };
for (const name of builtinModules) roots[name] = require(name);
(function () {
  roots.arguments = arguments;
})();

// The callers: stack frames, from inside every callback.
let frames = 0;
const functions = new Set();
Error.prepareStackTrace = (error, sites) => {
  for (const site of sites) {
    frames++;
    for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(site))) {
      if (!name.startsWith('get')) continue;
      const value = site[name]();
      if (typeof value === 'function') functions.add(value);
      roots[`frame ${frames} ${name}`] = value;
    }
  }
  return sites;
};
const look = () => {
  roots[`stack ${frames}`] = new Error().stack;
  const target = {};
  Error.captureStackTrace(target);
  roots[`capture ${frames}`] = target.stack;
  for (const name of ['caller', 'arguments']) {
    try {
      roots[`${name} ${frames}`] = look[name];
    } catch {
      // Arrows have none.
    }
  }
  return undefined;
};
const spy = new Proxy(function () {}, {
  get: (target, key) => (look(), key === 'prototype' ? target.prototype : undefined),
  has: () => (look(), false),
  ownKeys: (target) => (look(), Reflect.ownKeys(target)),
  getPrototypeOf: () => (look(), null),
  getOwnPropertyDescriptor: (target, key) => (look(), Reflect.getOwnPropertyDescriptor(target, key)),
  apply: look,
  construct: () => (look(), {}),
});
[1].map(look);
[2, 1].sort(look);
'a'.replace('a', look);
JSON.parse('1', look);
JSON.stringify({ toJSON: look });
const attempts = [
  () => fs.readFileSync(spy),
  () => fs.readFileSync(__filename, spy),
  () => fs.readFile(spy, look),
  () => fs.writeFileSync('/tmp/x', spy),
  () => fs.readFileSync({ toString: look, valueOf: look, [Symbol.toPrimitive]: look }),
  () => fs.mkdirSync('/tmp/y', { get recursive() { return look(); }, get mode() { return look(); } }),
  () => new URL({ toString: look }),
  () => Buffer.from(spy),
  () => Buffer.from({ valueOf: look, length: { valueOf: look } }),
  () => require(spy),
  () => require('./missing'),
  () => require.resolve('x', { paths: spy }),
  () => process.chdir(spy),
  () => process.emitWarning(spy),
  () => process.emit('x', spy),
  () => structuredClone(spy),
  () => structuredClone({ get a() { return look(); } }),
  () => console.log({ [Symbol.for('nodejs.util.inspect.custom')]: (...all) => ((roots.inspect = all), look(), 'inspected') }),
  () => { process.env.x = spy; },
  () => setTimeout(spy, 0),
  () => new Promise(spy),
  () => queueMicrotask(look),
  () => process.nextTick(look, spy),
  () => setImmediate(look),
  () => fs.promises.readFile(__filename).then(look),
  () => fs.readFile(__filename, look),
  () => fs.createReadStream(__filename).on('data', look).on('end', look),
  () => process.on('exit', look),
  () => import('./missing.mjs').catch((error) => { roots.importError = error; look(); }),
  () => new (require('node:stream').Transform)({ transform: look, read: look }).write('x'),
  () => require('node:zlib').gzip('x', look),
  () => require('node:crypto').randomBytes(4, look),
];
attempts.forEach((attempt, i) => {
  try {
    roots[`result ${i}`] = attempt();
  } catch (error) {
    roots[`error ${i}`] = error;
  }
});
// The allowed twin plants one, and it is found.
if (process.argv[2] === 'plant') Object.defineProperty(fs.Stats.prototype, 'hidden', { get: () => [{ writeText() {} }] });

setTimeout(() => {
  const { visited, found } = walk(roots);
  console.log('values visited, more than 3000:', visited > 3000);
  console.log('frames looked at, more than 100:', frames > 100);
  console.log('functions that frames gave, all of scripts:', [...functions].every((f) => !/\{\s*\[native code\]\s*\}$/.test(f)));
  console.log('the engine\'s own:', found.length);
  for (const path of found) console.log(path.replace(/^.*?stat/i, 'stat'));
}, 50);
