// What of `process` stands on modules that stand on `process` themselves.

import { method, process } from './process.js';
import { builtin, builtinName } from './loader/builtins.js';
import { contents } from './fs/content.js';
import { toPath } from './fs/arguments.js';
import { validateString } from './validators.js';
import util from '../modules/util.js';

method('loadEnvFile', (path = '.env') => {
  const file = toPath(path);
  const values = util.parseEnv(contents.readFile(file, 'utf8')());
  for (const name of Object.keys(values)) process.env[name] ??= values[name];
});

method('getBuiltinModule', (id) => {
  validateString(id, 'id');
  const name = builtinName(id);
  return name === undefined ? undefined : builtin(name);
});
