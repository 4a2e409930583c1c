// What a CommonJS script starts with.
console.log(
  typeof require,
  typeof module,
  typeof exports,
  module.exports === exports,
  this === exports,
  arguments.length,
);
console.log(
  __filename.endsWith('/scripts/cjs-basics.js'),
  __dirname.endsWith('/scripts'),
  require.main === module,
  module.id,
  module.loaded,
  module.children.length,
);
console.log(
  module.filename === __filename,
  module.path === __dirname,
  module.paths[0] === `${__dirname}/node_modules`,
  module.constructor.name,
  module.parent,
);
console.log(Object.keys(require).sort(), Object.keys(require.cache).length, require.extensions['.js'] !== undefined);
console.log(
  require.resolve('fs'),
  require.resolve('node:path'),
  require.resolve('./cjs-basics.js') === __filename,
  require.resolve('./cjs-basics') === __filename,
  require.resolve.paths('x')[0].endsWith('node_modules'),
  require.resolve.paths('fs'),
);
console.log(
  require('fs') === require('node:fs'),
  require('fs').promises === require('fs/promises'),
  require('module').builtinModules.includes('fs'),
  require('module').isBuiltin('node:test'),
);
var global_variable = 1;
console.log(
  globalThis.global_variable,
  typeof globalThis.require,
  (() => this === module.exports)(),
  (function () {
    return this === globalThis;
  })(),
  (function () {
    'use strict';
    return this;
  })(),
);
for (const name of [
  './absent',
  'no-such-package',
  '../absent/file.js',
  '/absolute/absent',
  'node:nonsense',
  '',
  './',
  5,
]) {
  try {
    require(name);
  } catch (error) {
    console.log(error.name, error.code, error.message.split('\n')[0], error.requireStack?.length);
  }
}
try {
  require.resolve('nothing-here');
} catch (error) {
  console.log(error.code);
}
exports.value = 1;
module.exports.other = 2;
console.log(require('./cjs-basics.js') === module.exports, Object.keys(module.exports));
return;
console.log('never: a script may return');
