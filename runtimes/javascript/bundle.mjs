// Bundles the Node layer into one script, an expression that gives a function of the engine's binding:
//     node bundle.mjs OUTPUT
// Packages that ask for a module of Node's get ours.

import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = dirname(fileURLToPath(import.meta.url));
const OF_ESM = 'commonjs-of-module';

const modules = {
  name: 'modules',
  setup({ onLoad, onResolve }) {
    // What readable-stream takes for a package is a global here.
    onResolve({ filter: /^abort-controller$/ }, () => ({ path: `${root}/node/globals/abort.js` }));
    onResolve({ filter: /^(node:)?[a-z_0-9]+(\/[a-z_0-9]*)?$/ }, ({ path, kind }) => {
      const file = `${root}/node/modules/${path.replace(/^node:/, '').replace(/\/$/, '')}.js`;
      if (!existsSync(file)) return undefined;
      return kind === 'require-call' ? { path: file, namespace: OF_ESM } : { path: file };
    });
    // `require` of a module means its default export.
    onLoad({ filter: /.*/, namespace: OF_ESM }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)}).default;`,
      resolveDir: dirname(path),
    }));
  },
};

await build({
  absWorkingDir: root,
  entryPoints: ['node/main.js'],
  outfile: process.argv[2],
  bundle: true,
  format: 'iife',
  platform: 'neutral',
  mainFields: ['module', 'main'],
  conditions: [],
  target: 'es2023',
  // Scripts see the names of classes and functions.
  keepNames: true,
  legalComments: 'none',
  define: { 'process.env.NODE_ENV': '"production"' },
  banner: { js: '(function ($binding) {' },
  footer: { js: '})' },
  plugins: [modules],
  logLevel: 'warning',
});
