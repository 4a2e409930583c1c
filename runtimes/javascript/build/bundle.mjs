// Bundles the Node layer and the packages it uses into one script.
// usage: node bundle.mjs FOLDER OUTPUT   (FOLDER holds `node/` and `node_modules/`)
//
// The bundle is an expression, a function that takes the engine's binding. Packages that ask for one of
// Node's own modules get ours.

import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';

const [folder, outfile] = process.argv.slice(2).map((name) => path.resolve(name));
const esbuild = createRequire(path.join(folder, 'package.json'))('esbuild');

const ours = (name) => {
  const file = path.join(folder, 'node/modules', `${name.replace(/^node:/, '').replace(/\/$/, '')}.js`);
  return fs.existsSync(file) ? file : undefined;
};

// A package in CommonJS expects what `require` gives, which is the default export of our module.
const builtins = {
  name: 'builtins',
  setup(build) {
    build.onResolve({ filter: /^abort-controller$/ }, () => ({ path: path.join(folder, 'node/globals/abort.js') }));
    build.onResolve({ filter: /^(node:)?[a-z_0-9]+(\/[a-z_0-9]*)?$/ }, ({ path: name, kind }) => {
      const file = ours(name);
      if (file === undefined) return undefined;
      // The name stands in the bundle, and must not tell where it was made.
      const within = path.relative(folder, file);
      return kind === 'require-call' ? { path: within, namespace: 'required' } : { path: file };
    });
    build.onLoad({ filter: /.*/, namespace: 'required' }, ({ path: within }) => ({
      contents: `module.exports = require(${JSON.stringify(path.join(folder, within))}).default;`,
      resolveDir: folder,
    }));
  },
};

await esbuild.build({
  absWorkingDir: folder,
  entryPoints: ['node/main.js'],
  outfile,
  bundle: true,
  format: 'iife',
  platform: 'neutral',
  mainFields: ['module', 'main'],
  conditions: [],
  target: 'es2023',
  banner: { js: '(function ($binding) {' },
  footer: { js: '})' },
  define: { 'process.env.NODE_ENV': '"production"' },
  legalComments: 'none',
  // Classes and functions that scripts see keep the names they have in the source.
  keepNames: true,
  logLevel: 'warning',
  plugins: [builtins],
});
