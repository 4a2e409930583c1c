// console.time and trace: the shape of what they print.
import { Console } from 'console';
import { Writable } from 'stream';
let out = '';
const sink = new Writable({
  write(chunk, encoding, callback) {
    out += chunk;
    callback();
  },
});
const own = new Console(sink);
own.time();
own.timeEnd();
own.time('label');
own.timeLog('label', 'extra', { a: 1 });
own.timeEnd('label');
console.log(out.replace(/[\d.]+(ms|s)/g, '<time>'));
out = '';
(function outer() {
  own.trace('traced %s', 'here');
})();
const lines = out.split('\n');
console.log(
  lines[0],
  lines.some((line) => /^ {4}at outer \(file:.*console-trace-and-time\.mjs:20:\d+\)$/.test(line)),
);
out = '';
own.log('%s', 'x');
own.warn('to the same');
own.table([[1]]);
console.log(out);
try {
  new Console();
} catch (error) {
  console.log(error.code, error.message);
}
try {
  new Console({});
} catch (error) {
  console.log(error.code, error.message);
}
