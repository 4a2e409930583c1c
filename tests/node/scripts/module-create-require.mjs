// The module `module`.
import module, { createRequire, builtinModules, isBuiltin, findPackageJSON } from 'node:module';
const require = createRequire(import.meta.url);
console.log(
  require('path').sep,
  require('node:os') === (await import('os')).default,
  createRequire(import.meta.filename)('fs') === require('fs'),
);
console.log(
  ['fs', 'path', 'crypto', 'fs/promises', 'stream/web', 'worker_threads', 'http'].every((name) =>
    builtinModules.includes(name),
  ),
  builtinModules.includes('node:fs'),
  builtinModules.includes('node:test'),
);
console.log(
  isBuiltin('fs'),
  isBuiltin('node:fs'),
  isBuiltin('fs/absent'),
  isBuiltin('test'),
  isBuiltin('node:test'),
  isBuiltin('lodash'),
);
console.log(
  typeof module,
  module.Module === module,
  module.builtinModules === builtinModules,
  typeof module._load,
  typeof module._resolveFilename,
  typeof module.syncBuiltinESMExports,
  typeof module.register,
);
console.log(
  require.resolve('fs'),
  require.resolve('node:fs'),
  Object.keys(require).sort().join(),
  typeof findPackageJSON,
);
try {
  findPackageJSON();
} catch (error) {
  console.log(error.name, error.code);
}
const cached = require('./cjs-modules/lib/counter.js');
console.log(
  cached.next(),
  require('./cjs-modules/lib/counter.js').next(),
  Object.keys(require.cache).map((file) => file.split('/').pop()),
);
