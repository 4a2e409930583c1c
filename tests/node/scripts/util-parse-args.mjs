// util.parseArgs: options, defaults, positionals, tokens, and every complaint.
import { parseArgs } from 'node:util';

const options = {
  verbose: { type: 'boolean', short: 'v' },
  output: { type: 'string', short: 'o', default: 'out.json' },
  tag: { type: 'string', multiple: true, short: 't' },
  'dry-run': { type: 'boolean', default: false },
};
const show = (args, more = {}) => {
  try {
    const { values, positionals, tokens } = parseArgs({ args, options, allowPositionals: true, ...more });
    console.log(values, positionals, ...(tokens ? [tokens] : []));
  } catch (error) {
    console.log(`${error.name} ${error.code}: ${error.message}`);
  }
};

show([]);
show(['-v', 'file.txt', '--output', 'x.json', '--tag=a', '-t', 'b', '-tc']);
show(['-vo', 'both', '--dry-run', '--', '--not-an-option', '-x']);
show(['--output=', '--output=last=wins', '-']);
show(['-o=x', '--tag', '']);
show(['--no-verbose', '--no-dry-run'], { allowNegative: true });
show(['--verbose', 'x', '--', 'y'], { tokens: true });
show(['--unknown']);
show(['-z']);
show(['--output']);
show(['--output', '--verbose']);
show(['--verbose=yes']);
show(['--no-verbose']);
show(['positional'], { allowPositionals: false });
show(['--unknown', '--also=5', '-xyz', 'p'], { strict: false });
show(['-o', '-v'], { strict: false });
show('no array');
for (const bad of [
  { a: {} },
  { a: { type: 'number' } },
  { a: { type: 'string', short: 'ab' } },
  { a: { type: 'string', default: 5 } },
  { a: { type: 'string', multiple: true, default: 'x' } },
]) {
  show([], { options: bad });
}
console.log(parseArgs().values, Object.getPrototypeOf(parseArgs({ args: [] }).values));
