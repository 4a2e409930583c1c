// path.win32: drives, UNC names, both slashes.
import { win32 } from 'path';
import win32Again from 'node:path/win32';

console.log(win32 === win32Again);
for (const sample of [
  'C:\\a\\b.txt',
  'C:a',
  '\\\\server\\share\\x\\y.z',
  'a/b\\c',
  'C:\\',
  '\\x',
  '..\\..\\y',
  'C:/mixed/sl\\ash/',
  'con.txt',
]) {
  console.log(
    JSON.stringify(sample),
    win32.basename(sample),
    '|',
    win32.dirname(sample),
    '|',
    win32.extname(sample),
    '|',
    win32.normalize(sample),
    '|',
    win32.isAbsolute(sample),
  );
  console.log(win32.parse(sample));
}
console.log(
  win32.join('C:\\a', '..', 'b', 'c.txt'),
  win32.join('a/b', '..\\c'),
  win32.join('\\\\server', 'share', 'x'),
);
console.log(win32.resolve('C:\\a', '..\\b'), win32.resolve('C:\\a', 'D:\\b', 'c'), win32.resolve('C:\\', '/x/y'));
console.log(
  win32.relative('C:\\a\\b', 'C:\\a\\c\\d'),
  win32.relative('C:\\a', 'D:\\b'),
  win32.relative('C:\\A', 'c:\\a\\b'),
);
console.log(win32.format({ dir: 'C:\\x', base: 'y.z' }), win32.sep, win32.delimiter);
console.log(win32.toNamespacedPath('C:\\a\\b'), win32.toNamespacedPath('\\\\server\\share\\x'));
