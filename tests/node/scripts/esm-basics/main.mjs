// Imports of every form, live bindings, namespaces, import.meta.
import defaultExport, { named, renamed as other, increment, count } from './values.mjs';
import * as namespace from './values.mjs';
import settings from './settings.json' with { type: 'json' };
import './effect.mjs';
export { named as again } from './values.mjs';
export * from './values.mjs';
export * as everything from './values.mjs';

console.log(defaultExport, named, other, count);
increment();
console.log(count, namespace.count, Object.keys(namespace), namespace[Symbol.toStringTag], namespace);
console.log(
  settings,
  import.meta.url.endsWith('/scripts/esm-basics/main.mjs'),
  import.meta.url.startsWith('file:///'),
  import.meta.dirname.endsWith('/esm-basics'),
  import.meta.filename.endsWith('main.mjs'),
  import.meta.main,
);
console.log(
  Object.keys(import.meta).sort(),
  Object.getPrototypeOf(import.meta),
  import.meta.resolve('./x.mjs').endsWith('/esm-basics/x.mjs'),
  import.meta.resolve('fs'),
);
const dynamic = await import('./values.mjs');
console.log(
  dynamic === namespace,
  (await import('./settings.json', { with: { type: 'json' } })).default === settings,
  (await import(new URL('./values.mjs?other', import.meta.url))).count,
);
try {
  namespace.count = 5;
} catch (error) {
  console.log(error.name);
}
try {
  count++;
} catch (error) {
  console.log(error.name);
}
for (const name of [
  './absent.mjs',
  'no-such-package',
  './values',
  '.',
  'node:nonsense',
  '/absent/x.mjs',
  './settings.json',
  'https://example.com/x.mjs',
]) {
  await import(name).catch((error) => console.log(error.name, error.code, error.message.split('\n')[0]));
}
await import('./lacks.mjs').catch((error) => console.log(error.name, error.message));
console.log((await import('data:text/javascript,export default 5')).default, typeof require, this);
