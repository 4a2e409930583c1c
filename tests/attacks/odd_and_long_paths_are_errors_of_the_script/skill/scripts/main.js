const fs = require('node:fs');

function attempt(what, act) {
  try {
    const value = act();
    console.log(`${what}: ${JSON.stringify(value)}`);
  } catch (error) {
    console.log(`${what}: ${error.name} ${error.code ?? error.message}`);
  }
}

const paths = process.argv[2] === 'odd' ? {
  spaces: ' ', 'a long name': 'x'.repeat(5000), 'a long path': 'x/'.repeat(5000), 'a very long path': '/'.repeat(1e6), 'many dots': '../'.repeat(1e5),
  number: 7.5, 'a negative number': -1, null: null, object: {}, array: ['SKILL.md'], symbol: Symbol('x'),
  'a network name': '\\\\host\\share', 'a device': 'C:\\Windows', 'far below': 'scripts/'.repeat(100), 'a file as a folder': 'SKILL.md/x', 'a trailing slash': 'SKILL.md/',
} : { plain: 'SKILL.md', bytes: Buffer.from('SKILL.md'), dotted: './scripts/.././SKILL.md', doubled: './/SKILL.md', url: new URL(`file://${process.cwd()}/SKILL.md`) };
for (const [what, path] of Object.entries(paths)) {
  attempt(`read ${what}`, () => fs.readFileSync(path).length > 0);
  attempt(`write ${what}`, () => fs.writeFileSync(path, '') ?? 'written');
  attempt(`stat ${what}`, () => fs.statSync(path).isFile());
}
