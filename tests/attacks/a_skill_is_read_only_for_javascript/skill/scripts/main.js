const fs = require('node:fs');

function attempt(what, act) {
  try {
    const value = act();
    console.log(`${what}: ${JSON.stringify(value)}`);
  } catch (error) {
    console.log(`${what}: ${error.name} ${error.code ?? error.message}`);
  }
}

const base = process.argv[2] ?? '/skill';
attempt('write', () => fs.writeFileSync(`${base}/SKILL.md`, 'changed') ?? 'written');
attempt('write the script', () => fs.writeFileSync(`${base}/scripts/main.js`, 'changed') ?? 'written');
attempt('append', () => fs.appendFileSync(`${base}/SKILL.md`, 'more') ?? 'written');
attempt('create', () => fs.writeFileSync(`${base}/new`, 'x') ?? 'written');
attempt('open for both', () => fs.closeSync(fs.openSync(`${base}/SKILL.md`, 'r+')) ?? 'opened');
attempt('truncate', () => fs.truncateSync(`${base}/SKILL.md`) ?? 'truncated');
attempt('times', () => fs.utimesSync(`${base}/SKILL.md`, 1, 1) ?? 'set');
attempt('mode', () => fs.chmodSync(`${base}/SKILL.md`, 0o777) ?? 'set');
attempt('make a folder', () => fs.mkdirSync(`${base}/folder`) ?? 'made');
attempt('make folders', () => fs.mkdirSync(`${base}/a/b/c`, { recursive: true }) ?? 'made');
attempt('make one with a fresh name', () => fs.mkdtempSync(`${base}/fresh`) && 'made');
attempt('link', () => fs.symlinkSync('SKILL.md', `${base}/link`) ?? 'made');
attempt('hard link', () => fs.linkSync(`${base}/SKILL.md`, `${base}/hard`) ?? 'made');
attempt('move', () => fs.renameSync(`${base}/SKILL.md`, `${base}/MOVED.md`) ?? 'moved');
attempt('move out', () => fs.renameSync(`${base}/MOVED.md`, '/tmp/out') ?? 'moved');
attempt('copy in', () => fs.copyFileSync(__filename, `${base}/copied`) ?? 'copied');
attempt('remove', () => fs.unlinkSync(`${base}/scripts/main.js`) ?? 'removed');
attempt('remove all', () => fs.rmSync(`${base}/scripts`, { recursive: true }) ?? 'removed');
attempt('access', () => fs.accessSync(base, fs.constants.W_OK) ?? 'may');
