// Packages beside the script: main, exports, conditions, patterns, scopes, nesting.
import { createRequire } from 'node:module';
const require = createRequire(import.meta.url);
const both = async (name) => {
  const show = (error) => `${error.code}: ${error.message.split('\n')[0]}`;
  let required, imported;
  try {
    required = require(name);
    required = required.default ?? required;
  } catch (error) {
    required = show(error);
  }
  try {
    imported = (await import(name)).default;
  } catch (error) {
    imported = show(error);
  }
  console.log(name, '|', required, '|', imported);
};
for (const name of [
  'plain',
  'only-main',
  'only-main/lib/inner.js',
  'only-main/lib/inner',
  'conditional',
  'conditional/feature',
  'conditional/package.json',
  'conditional/dist/require.cjs',
  'conditional/private',
  '@scope/pkg',
  'patterns/a',
  'patterns/deep/b',
  'patterns/deep/hidden',
  'patterns/x.js',
  'string-exports',
  'string-exports/other',
  'nested',
  'absent-package',
  '@scope/absent',
  'plain/absent.js',
]) {
  await both(name);
}
console.log(
  require.resolve('conditional').endsWith('require.cjs'),
  import.meta.resolve('conditional').endsWith('import.mjs'),
  require.resolve.paths('plain')[0].endsWith('packages-exports/node_modules'),
);
