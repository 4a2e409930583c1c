const fs = require('node:fs');
const path = require('node:path');

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
  attempt(`stat ${file}`, () => fs.statSync(file).size);
  attempt(`list around ${file}`, () => fs.readdirSync(path.dirname(file)));
  attempt(`exists ${file}`, () => fs.existsSync(file));
  attempt(`real path of ${file}`, () => fs.realpathSync(file));
  attempt(`open ${file} by bytes`, () => fs.closeSync(fs.openSync(Buffer.from(file))) ?? 'opened');
}
