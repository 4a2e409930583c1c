const util = require('node:util');
let depth = Number(process.argv[2]);

function attempt(what, act) {
  try {
    act();
    console.log(`${what}: done`);
  } catch (error) {
    console.log(`${what}: ${error?.name}`);
  }
}

const nested = (wrap) => {
  let value = 1;
  for (let i = 0; i < depth; i++) value = wrap(value);
  return value;
};
const twice = (open, middle, close) => open.repeat(depth) + middle + close.repeat(depth);
const compile = (source) => () => new Function(source);

attempt('JSON reading lists', () => JSON.parse(twice('[', '', ']')));
attempt('JSON reading objects', () => JSON.parse(twice('{"k":', '1', '}')));
attempt('JSON reading with a reviver', () => JSON.parse(twice('[', '', ']'), (key, value) => value));
attempt('JSON in a file', () => { require('node:fs').writeFileSync('/tmp/deep.json', twice('[', '', ']')); require('/tmp/deep.json'); });
attempt('inspect', () => util.inspect(nested((value) => ({ k: value }))).length);
attempt('console.log', () => console.log(typeof nested((value) => [value])));
attempt('flat', () => nested((value) => [value]).flat(Infinity));
attempt('join', () => nested((value) => [value]).join());
attempt('a chain of prototypes', () => nested((value) => Object.create(typeof value === 'object' ? value : null)).missing);
attempt('a chain of promises', () => nested((value) => Promise.resolve(value).then((x) => x)));
attempt('a chain of closures', () => nested((value) => () => value));
attempt('a list linked twice', () => nested((value) => { const node = { value }; if (typeof value === 'object') value.back = node; return node; }));
attempt('maps in maps', () => nested((value) => new Map([[value, value]])));
attempt('parentheses', compile(`return ${twice('(', '1', ')')}`));
attempt('brackets', compile(`return ${twice('[', '', ']')}`));
attempt('arrows', compile('x=>'.repeat(depth) + '1'));
attempt('templates', compile(`return ${twice('`${', '1', '}`')}`));
attempt('ternaries to the right', compile(`return ${'1?1:'.repeat(depth)}1`));
attempt('a sum', compile(`return ${'1+'.repeat(depth)}1`));
attempt('powers', compile(`return ${'1**'.repeat(depth)}1`));
attempt('assignments', compile(`var a; ${'a='.repeat(depth)}1`));
attempt('unary signs', compile(`return ${'- '.repeat(depth)}1`));
attempt('negations', compile(`return ${'!'.repeat(depth)}1`));
attempt('typeof', compile(`return ${'typeof '.repeat(depth)}1`));
attempt('new', compile(`return ${'new '.repeat(depth)}Object`));
attempt('await', compile(`return async () => ${'await '.repeat(depth)}1`));
attempt('members', compile(`return x${'.a'.repeat(depth)}`));
attempt('optional members', compile(`return x${'?.a'.repeat(depth)}`));
attempt('calls', compile(`return x${'()'.repeat(depth)}`));
attempt('destructuring', compile(`var ${twice('[', 'a', ']')}=[]`));
attempt('destructured parameters', compile(`return (${twice('{a:', 'b', '}')})=>1`));
attempt('comments', compile('/**/'.repeat(depth)));
attempt('commas', compile(`return ${'1,'.repeat(depth)}1`));
attempt('elements', compile(`return [${'1,'.repeat(depth)}]`));
attempt('arguments', compile(`return x(${'1,'.repeat(depth)}1)`));
attempt('cases', compile(`switch(1){${Array.from({ length: depth }, (_, i) => `case ${i}:`).join('')}}`));
attempt('groups', () => new RegExp(twice('(', 'a', ')')));
attempt('groups without capture', () => new RegExp(twice('(?:', 'a', ')')));
attempt('looking ahead', () => new RegExp(twice('(?=', 'a', ')')));
attempt('alternatives', () => new RegExp('a|'.repeat(depth)));
attempt('a set in sets', () => new RegExp(twice('[', 'a', ']'), 'v'));
attempt('matching', () => /^(?:a|b)*c/.exec('ab'.repeat(depth)));
attempt('matching groups', () => /^(?:(a)|(b))*$/.exec('ab'.repeat(depth)));
attempt('freeing lists', () => { nested((value) => [value]); });
attempt('freeing closures', () => { nested((value) => () => value); });
// The time or the memory that these take grows with the square of their depth.
depth = Math.min(depth, 1000);
attempt('ternaries', compile(`return ${'1?'.repeat(depth)}1${':1'.repeat(depth)}`));
attempt('JSON writing lists', () => JSON.stringify(nested((value) => [value])));
attempt('JSON writing objects', () => JSON.stringify(nested((value) => ({ k: value }))));
attempt('a chain of causes', () => nested((value) => new Error('x', { cause: value })).cause.message);
attempt('strings of strings', () => { let rope = ''; for (let i = 0; i < depth; i++) rope = 'a' + rope + 'b'; return rope.length; });
attempt('braces', compile(`return ${twice('{a:', '1', '}')}`));
attempt('blocks', compile(twice('{', '', '}')));
attempt('functions', compile(twice('function f(){', '', '}')));
attempt('statements', compile('if(1)'.repeat(depth) + ';'));
attempt('else', compile('if(1);else '.repeat(depth) + ';'));
attempt('loops', compile('for(;;)'.repeat(depth) + ';'));
attempt('labels', compile(Array.from({ length: depth }, (_, i) => `l${i}:`).join('') + ';'));
attempt('tries', compile(twice('try{', '', '}finally{}')));
attempt('classes', compile(twice('(class{static a=', '1', '})')));
attempt('parameters', compile(`return (${Array.from({ length: depth }, (_, i) => `a${i}`).join()})=>1`));
attempt('locals', compile(Array.from({ length: depth }, (_, i) => `let a${i};`).join('')));
attempt('repetitions', () => new RegExp(twice('(?:', 'a', '){2}')));
console.log('goes on');
globalThis.kept = [nested((value) => [value]), nested((value) => ({ k: value })), nested((value) => () => value)];
