// What Node 24 answers for each call where the folder is a read-only mount, and where it can be written.
const fs = require('node:fs');
const path = require('node:path');

const base = process.argv[2] ?? process.env.SKILL_BASE_DIR;
const other = fs.mkdtempSync('/tmp/other-');

function attempt(act) {
  try {
    act();
    return 'done';
  } catch (error) {
    return error.code;
  }
}

const calls = {
  access: (at) => fs.accessSync(at, fs.constants.W_OK),
  'open to change': (at) => fs.closeSync(fs.openSync(at, 'r+')),
  'open to write': (at) => fs.closeSync(fs.openSync(at, 'a')),
  'open what is new': (at) => fs.closeSync(fs.openSync(at, 'wx')),
  times: (at) => fs.utimesSync(at, 1, 1),
  'make a link': (at) => fs.symlinkSync('x', at),
  'copy in': (at) => fs.copyFileSync(__filename, at),
  'make a folder': (at) => fs.mkdirSync(at),
  'make a fresh one': (at) => fs.mkdtempSync(`${at}/fresh-`),
  'hard link': (at) => fs.linkSync(at, `${at}.hard`),
  rename: (at) => fs.renameSync(at, `${at}.renamed`),
  'move out': (at) => fs.renameSync(at, `${other}/moved`),
  'remove a folder': (at) => fs.rmdirSync(at),
  remove: (at) => fs.unlinkSync(at),
};

for (const name of ['file', 'folder', 'new', 'missing/new', 'file/new']) {
  const at = path.join(base, name);
  console.log(name);
  for (const [what, call] of Object.entries(calls)) console.log(`  ${what}: ${attempt(() => call(at))}`);
}
console.log('outside every granted folder');
for (const [what, call] of Object.entries(calls)) console.log(`  ${what}: ${attempt(() => call('/outside/of/all'))}`);
// Of what may be there on the machine only what would change nothing.
const harmless = ['access', 'open to change', 'open what is new', 'make a link', 'make a folder', 'make a fresh one'];
for (const what of harmless) console.log(`  ${what}: ${attempt(() => calls[what]('/etc/passwd'))}`);
