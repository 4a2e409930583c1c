const fs = require('node:fs');
const Module = require('node:module');

async function attempt(what, act) {
  try {
    const value = await act();
    console.log(`${what}: ${JSON.stringify(value)}`);
  } catch (error) {
    console.log(`${what}: ${error.name} ${error.code ?? error.message}`);
  }
}

const end = process.argv[2] === 'cut' ? '\0.txt' : '';
const file = `SKILL.md${end}`;
(async () => {
  await attempt('read', () => fs.readFileSync(file, 'utf8').length > 0);
  await attempt('read bytes', () => fs.readFileSync(Buffer.from(file), 'utf8').length > 0);
  await attempt('promise', async () => (await fs.promises.readFile(file)).length > 0);
  await attempt('stat', () => fs.statSync(file).isFile());
  await attempt('exists', () => fs.existsSync(file));
  await attempt('access', () => fs.accessSync(file) ?? 'may');
  await attempt('list', () => fs.readdirSync(`scripts${end}`));
  await attempt('write', () => fs.writeFileSync(`/tmp/new${end}`, 'x') ?? fs.readdirSync('/tmp'));
  await attempt('make', () => fs.mkdirSync(`/tmp/folder${end}`) ?? fs.readdirSync('/tmp'));
  await attempt('make below', () => fs.mkdtempSync(`/tmp/folder${end}`).startsWith('/tmp/folder'));
  await attempt('link', () => fs.symlinkSync(`new${end}`, '/tmp/link') ?? fs.readlinkSync('/tmp/link'));
  await attempt('rename', () => fs.renameSync('/tmp/new', `/tmp/renamed${end}`) ?? 'renamed');
  await attempt('copy', () => fs.copyFileSync('SKILL.md', `/tmp/copied${end}`) ?? 'copied');
  await attempt('remove', () => fs.rmSync(`/tmp/copied${end}`) ?? 'removed');
  await attempt('stream', () => new Promise((done, fail) => fs.createReadStream(file).on('open', () => done('opened')).on('error', fail)));
  await attempt('require', () => require(`./helper.js${end}`));
  await attempt('createRequire', () => Module.createRequire(`/skill/scripts/x${end}`)('./helper.js'));
  await attempt('import', async () => (await import(`./helper.js${end}`)).default);
  await attempt('chdir', () => process.chdir(`/tmp${end}`) ?? process.cwd());
})();
