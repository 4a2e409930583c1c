// CommonJS seen from ESM, ESM seen from CommonJS.
import whole, { first, second } from './classic.cjs';
import * as namespace from './classic.cjs';
import fn from './function.cjs';
import transpiled, { named as fromTranspiled } from './transpiled.cjs';
import fs, { readFileSync } from 'fs';
import { createRequire } from 'module';
const require = createRequire(import.meta.url);

console.log(whole, first, second, Object.keys(namespace).sort(), namespace.default === whole);
console.log(fn(1), fn.extra, Object.keys(await import('./function.cjs')).sort());
console.log(transpiled, fromTranspiled);
console.log(
  fs.readFileSync === readFileSync,
  require('./classic.cjs') === whole,
  require('./data.json'),
  require.resolve('./data.json').endsWith('data.json'),
);
const esm = require('./modern.mjs');
console.log(esm.default, esm.value, Object.prototype.toString.call(esm));
console.log(require('./from-commonjs.cjs').later instanceof Promise, await require('./from-commonjs.cjs').later);
try {
  require('./awaits.mjs');
} catch (error) {
  console.log(error.code);
}
try {
  require('./absent.cjs');
} catch (error) {
  console.log(error.code, error.requireStack.length);
}
console.log(createRequire('/some/where/x.js').resolve.paths('p')[0], typeof require.cache, require.main);
for (const bad of ['relative.js', 5, 'http://x']) {
  try {
    createRequire(bad);
  } catch (error) {
    console.log(error.code);
  }
}
