const fs = require('node:fs');

function attempt(what, act) {
  try {
    const value = act();
    console.log(`${what}: ${JSON.stringify(value)}`);
  } catch (error) {
    console.log(`${what}: ${error.name} ${error.code ?? error.message}`);
  }
}

for (const target of process.argv.slice(2)) {
  attempt(`link to ${target}`, () => fs.symlinkSync(target, '/tmp/link') ?? 'made');
  attempt('  read it', () => fs.readFileSync('/tmp/link', 'utf8'));
  attempt('  list it', () => fs.readdirSync('/tmp/link'));
  attempt('  write through it', () => fs.writeFileSync('/tmp/link', 'changed') ?? 'written');
  attempt('  remove it', () => fs.unlinkSync('/tmp/link') ?? 'removed');
  attempt(`hard link to ${target}`, () => fs.linkSync(target, '/tmp/hard') ?? 'made');
  attempt('  remove it', () => fs.unlinkSync('/tmp/hard') ?? 'removed');
}
