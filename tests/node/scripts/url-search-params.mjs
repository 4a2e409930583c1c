// URLSearchParams: reading, writing, order, encoding.
const params = new URLSearchParams('a=1&b=2&a=3&empty=&novalue&sp+ace=x%20y&%C3%BC=%e2%82%ac&bad=%zz');
console.log([...params], params.size, params.toString());
console.log(
  params.get('a'),
  params.getAll('a'),
  params.get('none'),
  params.has('b'),
  params.has('a', '3'),
  params.get('novalue'),
);
params.append('new', 'x&y=z');
params.set('a', 'only');
params.delete('b');
params.sort();
console.log(params.toString(), [...params.keys()].join(), [...params.values()].length);
console.log(params);
console.log(
  String(new URLSearchParams({ q: 'x y', n: 5, list: [1, 2] })),
  String(
    new URLSearchParams([
      ['k', 'v'],
      ['k', 'w'],
    ]),
  ),
  String(new URLSearchParams(new Map([['m', 'n']]))),
  String(new URLSearchParams('?lead=1')),
  String(new URLSearchParams()),
);
params.forEach((value, key, self) => {
  if (self !== params) throw new Error('other');
  if (key === 'new') console.log(key, value);
});
const url = new URL('https://a.b/?z=1&y=2#h');
url.searchParams.append('x', "~!*()'-._ +");
console.log(url.href, url.search);
url.searchParams.delete('z');
url.search = '?fresh=1';
console.log(url.searchParams.get('fresh'), url.href, Object.fromEntries(url.searchParams));
for (const action of [
  () => new URLSearchParams([['one']]),
  () => new URLSearchParams(5).toString(),
  () => params.get(),
  () => params.append('x'),
  () => new URLSearchParams(Symbol('s')),
  () => params.forEach(5),
  () => URLSearchParams(),
]) {
  try {
    console.log(action());
  } catch (error) {
    console.log(error.name, error.code, error.code ? error.message : '');
  }
}
console.log(
  new URLSearchParams('a=1').keys(),
  new URLSearchParams('a=1&b=2').entries().next(),
  typeof params[Symbol.iterator],
  params.toString.name,
);
