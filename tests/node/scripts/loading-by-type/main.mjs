// .js is what the nearest package.json says; .mjs and .cjs are what they are.
import { createRequire } from 'module';
const require = createRequire(import.meta.url);
console.log(
  (await import('./as-module/file.js')).kind,
  (await import('./as-commonjs/file.js')).default,
  require('./as-commonjs/file.js'),
);
console.log(
  require('./as-module/file.js').kind,
  (await import('./as-module/old.cjs')).default.kind,
  (await import('./as-commonjs/new.mjs')).kind,
);
console.log((await import('./as-commonjs/strict.js')).default.sloppy, (await import('./as-module/strict.mjs')).sloppy);
await import('./as-module/wrong.js').catch((error) => console.log(error.name, error.message.split('\n')[0]));
