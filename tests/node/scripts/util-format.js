// util.format and every placeholder it knows.
const { format, formatWithOptions } = require('util');
const show = (...args) => console.log(JSON.stringify(format(...args)));

show('%s', 'text', 'rest', { a: 1 });
show('%s %s', 'only one');
show('%s|%s|%s|%s', 5, 10n, Symbol('s'), -0);
show('%s|%s|%s', { a: { b: 1 } }, [1, [2, [3]]], () => 1);
show('%s', class A {});
show('%s|%s', null, undefined);
show(
  '%s',
  new (class {
    toString() {
      return 'own string';
    }
  })(),
);
show('%s', new Date(0));
show('%s', Object.assign(new Error('e'), { stack: 'stack of e' }));
show('%d|%d|%d|%d', 5, '6', 'x', 7n);
show('%d|%d', {}, Symbol('s'));
show('%i|%i|%i', 5.9, '7.2px', 'z');
show('%f|%f', '1.5e3', 'z');
show('%j|%j', { a: [1] }, 'text');
const cycle = {};
cycle.self = cycle;
show('%j', cycle);
show('%o', { f() {}, a: [1] });
show('%O', { a: { b: { c: { d: {} } } } });
show('%c%s', 'color: red', 'css dropped');
show('%%|%s|%x|%', 'a');
show('100%', 'after');
show(1, 2, '3', [4], { five: 5 }, null, undefined, true, Symbol('s'), 9n);
show();
show('');
show(null, '%s', 'not first');
show('a\nb', 'c\nd', ['e\nf']);
show('%s', '', '', 'x');
console.log(formatWithOptions({ colors: true }, '%O %s', { a: 1 }, 'x') === '{ a: \u001b[33m1\u001b[39m } x');
console.log(formatWithOptions({ compact: false }, { a: 1 }));
try {
  formatWithOptions('x');
} catch (error) {
  console.log(error.code, error.message);
}
