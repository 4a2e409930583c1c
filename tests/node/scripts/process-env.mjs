// process.env: values are strings, whatever was assigned.
import process, { env } from 'node:process';

console.log(env === process.env, typeof env.HOME, typeof env.TMPDIR, typeof env.PATH, env.TZ);
console.log(env.ABSENT, 'ABSENT' in env, env.hasOwnProperty('HOME'), Object.keys(env).includes('HOME'));
env.NUMBER = 12;
env.BOOLEAN = false;
env.NOTHING = null;
env.UNDEFINED = undefined;
console.log([env.NUMBER, env.BOOLEAN, env.NOTHING, env.UNDEFINED]);
console.log(delete env.NUMBER, env.NUMBER, delete env.NEVER);
env['with space'] = 'x y';
console.log(env['with space'], env.TEXT ?? 'default', env.PORT || 3000);
try {
  env.SYMBOL = Symbol('s');
} catch (error) {
  console.log(error.name, error.message);
}
console.log(Object.prototype.toString.call(env), JSON.parse(JSON.stringify(env)).BOOLEAN);
const { BOOLEAN, ABSENT = 'fallback', ...rest } = env;
console.log(BOOLEAN, ABSENT, 'BOOLEAN' in rest, 'HOME' in rest);
console.log(Object.entries(env).every(([key, value]) => typeof key === 'string' && typeof value === 'string'));
process.env = { ...process.env, ONLY: 'here' };
console.log(process.env.ONLY, process.env.BOOLEAN);
