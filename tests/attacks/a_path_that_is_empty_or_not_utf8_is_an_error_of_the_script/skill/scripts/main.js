const fs = require('node:fs');

function attempt(what, act) {
  try {
    const value = act();
    console.log(`${what}: ${JSON.stringify(value)}`);
  } catch (error) {
    console.log(`${what}: ${error.name} ${error.code ?? error.message}`);
  }
}

const paths = process.argv[2] === 'odd' ? { empty: '', 'a lone surrogate': '\ud800', 'bytes that are no text': Buffer.from([0xff, 0xfe]) } : { plain: 'SKILL.md' };
for (const [what, path] of Object.entries(paths)) {
  attempt(`read ${what}`, () => fs.readFileSync(path).length > 0);
  attempt(`stat ${what}`, () => fs.statSync(path).isFile());
  attempt(`list ${what}`, () => fs.readdirSync(path));
  attempt(`exists ${what}`, () => fs.existsSync(path));
  attempt(`real path ${what}`, () => fs.realpathSync(path));
  attempt(`change to ${what}`, () => process.chdir(String(path)));
}
console.log('goes on');
