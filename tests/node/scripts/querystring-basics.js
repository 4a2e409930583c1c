// querystring: both directions, other separators, limits.
const querystring = require('querystring');
for (const text of [
  'a=1&b=2',
  'a=1&a=2&a=3',
  'a&b=',
  '=x',
  'a=b=c',
  '%C3%BC=%E2%82%AC+x',
  'bad=%zz%',
  '',
  '&&a=1&',
  'a[]=1&a[]=2',
  '__proto__=1',
]) {
  console.log(JSON.stringify(text), { ...querystring.parse(text) });
}
console.log(querystring.parse('a:1;b:2', ';', ':'), Object.getPrototypeOf(querystring.parse('')));
console.log(
  Object.keys(querystring.parse(Array.from({ length: 1100 }, (_, i) => `k${i}=1`).join('&'))).length,
  Object.keys(querystring.parse('a=1&b=2&c=3', null, null, { maxKeys: 2 })),
);
console.log(
  querystring.stringify({
    a: 1,
    b: [2, 'x y'],
    c: true,
    d: null,
    e: undefined,
    f: {},
    g: 10n,
    h: NaN,
    i: Infinity,
    'k&': '&=?/é',
  }),
);
console.log(
  querystring.stringify({ a: 1, b: 2 }, ';', ':'),
  querystring.stringify({ a: 'x' }, null, null, { encodeURIComponent: (s) => `<${s}>` }),
);
console.log(
  querystring.stringify('text') === '',
  querystring.stringify() === '',
  querystring.escape("a b&c=d'()*~!"),
  querystring.unescape('a%20b%zz'),
);
console.log(querystring.encode === querystring.stringify, querystring.decode === querystring.parse);
try {
  querystring.escape('\ud800');
} catch (error) {
  console.log(error.name, error.code, error.message);
}
