// Every method of console, and where it writes.
console.log('log', 1, { a: [1, { b: 2 }] });
console.info('info');
console.debug('debug %d', 5);
console.warn('warn');
console.error('error', new Set([1]));
console.log();
console.log('');
console.log(undefined);
console.log('%s is %d years and %i, %f, %j %o %O %%', 'Bob', 42.5, 42.5, 1.5, { a: 1 }, [1], { b: 2 }, 'extra');
console.dir({ a: { b: { c: { d: 1 } } } }, { depth: 0 });
console.dir('text');
console.dirxml('x', [1]);
console.assert(true, 'not shown');
console.assert(false);
console.assert(false, 'shown %s', 'formatted');
console.assert(0, { a: 1 });
console.count();
console.count();
console.count('label');
console.countReset();
console.count();
console.countReset('absent');
console.group('Group');
console.log('inside');
console.group();
console.log('deeper\nsecond line');
console.error('error inside');
console.groupEnd();
console.groupCollapsed('collapsed');
console.log({ a: 1, b: [1, 2] });
console.groupEnd();
console.groupEnd();
console.groupEnd();
console.log('outside');
console.table([
  { a: 1, b: 'x' },
  { a: 2, c: true },
]);
console.table([
  [1, 2],
  [3, 4],
]);
console.table({ r1: { c: 1 }, r2: { c: 2 } });
console.table([1, 'two', { three: 3 }]);
console.table([{ a: 1, b: 2 }], ['b']);
console.table('text');
console.table([]);
console.table(new Map([['k', { v: 1 }]]));
console.table(new Set([1]));
console.table([
  { name: '日本', n: null },
  { name: 'é', n: undefined },
]);
console.timeEnd('never started');
console.timeLog('never started');
console.time('t');
console.time('t');
const { Console } = require('console');
const { PassThrough } = require('stream');
const stream = new PassThrough();
const own = new Console({ stdout: stream, stderr: stream, inspectOptions: { depth: 0 }, groupIndentation: 4 });
own.log('own', { a: { b: 1 } });
own.group();
own.error('indented');
own.groupEnd();
console.log(stream.read().toString());
console.log(
  Object.keys(console)
    .filter((name) => !['context', 'createTask'].includes(name))
    .sort()
    .join(' '),
  require('console') === console,
  console instanceof Console,
);
const { log } = console;
log('detached');
['a', 'b'].forEach(console.log);
console.log('%c styled', 'color: red');
console.log('%s', 'a', 'b', ['c']);
console.log('100%', 5);
console.log('%d', '0x10', '%s');
