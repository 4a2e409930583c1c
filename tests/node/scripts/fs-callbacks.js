// The callback forms, one after the other.
const fs = require('fs');

const steps = [
  (next) => fs.writeFile('a.txt', 'hello', next),
  (next) => fs.readFile('a.txt', next),
  (next) => fs.readFile('a.txt', 'utf8', next),
  (next) => fs.readFile('a.txt', { encoding: 'base64' }, next),
  (next) => fs.appendFile('a.txt', ' world', next),
  (next) => fs.stat('a.txt', (error, stats) => next(error, stats && stats.size)),
  (next) => fs.mkdir('d', next),
  (next) => fs.mkdir('d', next),
  (next) => fs.mkdir('d/e/f', { recursive: true }, (error, made) => next(error, made.slice(-3))),
  (next) => fs.readdir('.', next),
  (next) => fs.rename('a.txt', 'd/b.txt', next),
  (next) => fs.access('d/b.txt', next),
  (next) => fs.access('a.txt', next),
  (next) => fs.exists('d/b.txt', (there) => next(null, there)),
  (next) => fs.copyFile('d/b.txt', 'c.txt', next),
  (next) => fs.truncate('c.txt', 2, next),
  (next) => fs.readFile('c.txt', 'utf8', next),
  (next) => fs.unlink('c.txt', next),
  (next) => fs.unlink('c.txt', next),
  (next) => fs.rmdir('d', next),
  (next) => fs.rm('d', { recursive: true }, next),
  (next) => fs.readFile('absent', 'utf8', next),
  (next) => fs.realpath('.', (error, path) => next(error, path === process.cwd())),
  (next) => fs.mkdtemp('tmp-', (error, path) => next(error, path.length)),
];

function step(index) {
  if (index === steps.length) return console.log('done');
  let synchronous = true;
  steps[index]((error, ...results) => {
    console.log(index, synchronous, error ? `${error.code} ${error.message}` : error, ...results);
    step(index + 1);
  });
  synchronous = false;
}
step(0);
