const fs = require('node:fs');

function attempt(what, act) {
  try {
    const value = act();
    console.log(`${what}: ${JSON.stringify(value)}`);
  } catch (error) {
    console.log(`${what}: ${error.name} ${error.code ?? error.message}`);
  }
}

for (const file of process.argv.slice(2)) {
  attempt(`read ${file}`, () => fs.readFileSync(file, 'utf8'));
  attempt(`write ${file}`, () => fs.writeFileSync(file, 'changed') ?? 'written');
  attempt(`append ${file}`, () => fs.appendFileSync(file, 'more') ?? 'written');
  attempt(`truncate ${file}`, () => fs.truncateSync(file, 0) ?? 'truncated');
  attempt(`times ${file}`, () => fs.utimesSync(file, 1, 1) ?? 'set');
  attempt(`copy ${file}`, () => fs.copyFileSync(file, '/tmp/copy') ?? 'copied');
  attempt(`real path ${file}`, () => fs.realpathSync(file));
  attempt(`copy tree ${file}`, () => fs.cpSync(file, '/tmp/tree', { recursive: true, dereference: true }) ?? 'copied');
}
