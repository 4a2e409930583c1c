// Every function of path, the odd inputs included.
const path = require('path');

const samples = [
  '/a/b/c.txt',
  'a/b/../c',
  './x',
  '',
  '.',
  '..',
  '/',
  '//a//b//',
  'file',
  '.hidden',
  'a.tar.gz',
  'dir/',
  'x.',
  '/a/b/.bashrc',
  'ünï/ç.d',
];
for (const sample of samples) {
  console.log(
    JSON.stringify(sample),
    path.basename(sample),
    path.dirname(sample),
    path.extname(sample),
    path.normalize(sample),
    path.isAbsolute(sample),
  );
}
console.log(
  path.basename('/a/b.html', '.html'),
  path.basename('b.html', 'b.html'),
  path.basename('aaa', 'a'),
  path.basename('/a/b/', 'b'),
);
console.log(
  path.join('/a', 'b', '../c', './d'),
  path.join(),
  path.join(''),
  path.join('a', '', 'b'),
  path.join('..', '..', 'x'),
  path.join('/a/', '/b/'),
);
console.log(
  path.resolve('/a', 'b', '../c'),
  path.resolve('/a', '/b', 'c'),
  path.resolve('x') === process.cwd() + '/x',
  path.resolve('') === process.cwd(),
);
console.log(
  path.relative('/a/b/c', '/a/d'),
  path.relative('/a', '/a'),
  path.relative('/a/b', '/a/b/c/d'),
  path.relative('/', '/x'),
  path.relative('/foo', '/foobar'),
);
console.log(path.parse('/home/u/file.txt'), path.parse('rel/x.tar.gz'), path.parse('/'), path.parse(''));
console.log(
  path.format({ dir: '/a', base: 'b.c' }),
  path.format({ root: '/', name: 'n', ext: 'txt' }),
  path.format({ name: 'n', ext: '.md' }),
  path.format({}),
);
console.log(path.sep, path.delimiter, path.posix === path, path.win32.sep, path.posix.win32 === path.win32);
console.log(path.toNamespacedPath('/x'), path.matchesGlob('/a/b.js', '/a/*.js'));
console.log(require('path/posix') === path, require('node:path/win32') === path.win32);
for (const action of [
  () => path.join(1),
  () => path.resolve(null),
  () => path.basename({}),
  () => path.basename('a', 1),
  () => path.format('x'),
  () => path.parse(),
]) {
  try {
    action();
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
