// The codes, numbers and messages of failing calls.
const fs = require('fs');

function attempt(label, action) {
  try {
    console.log(label, 'returned', action());
  } catch (error) {
    const { name, code, errno, syscall, path, dest, message } = error;
    console.log(label, { name, code, errno, syscall, path, dest, message });
  }
}

fs.mkdirSync('full');
fs.writeFileSync('full/file', 'x');

attempt('read', () => fs.readFileSync('absent.txt'));
attempt('open in no directory', () => fs.openSync('no/where.txt', 'w'));
attempt('below a file', () => fs.readFileSync('full/file/x'));
attempt('read a directory', () => fs.readFileSync('full'));
attempt('write a directory', () => fs.writeFileSync('full', ''));
attempt('exclusive', () => fs.writeFileSync('full/file', '', { flag: 'wx' }));
attempt('mkdir', () => fs.mkdirSync('full'));
attempt('mkdir below nothing', () => fs.mkdirSync('a/b/c'));
attempt('mkdir recursive over a file', () => fs.mkdirSync('full/file', { recursive: true }));
attempt('rmdir full', () => fs.rmdirSync('full'));
attempt('rmdir file', () => fs.rmdirSync('full/file'));
attempt('rmdir absent', () => fs.rmdirSync('absent'));
attempt('unlink absent', () => fs.unlinkSync('absent'));
attempt('rm absent', () => fs.rmSync('absent'));
attempt('rm directory', () => fs.rmSync('full'));
attempt('rm force', () => fs.rmSync('absent', { force: true }));
attempt('stat', () => fs.statSync('absent'));
attempt('stat quiet', () => fs.statSync('absent', { throwIfNoEntry: false }));
attempt('lstat', () => fs.lstatSync('absent'));
attempt('readdir', () => fs.readdirSync('absent'));
attempt('readdir file', () => fs.readdirSync('full/file'));
attempt('rename', () => fs.renameSync('absent', 'other'));
attempt('copy', () => fs.copyFileSync('absent', 'other'));
attempt('copy exclusive', () => fs.copyFileSync('full/file', 'full/file', fs.constants.COPYFILE_EXCL));
attempt('readlink', () => fs.readlinkSync('full/file'));
attempt('access', () => fs.accessSync('absent'));
attempt('truncate', () => fs.truncateSync('absent', 1));
attempt('close', () => fs.closeSync(9999));
attempt('mkdtemp', () => fs.mkdtempSync('no/where-'));
attempt('realpath', () => fs.realpathSync('full/absent').length);
