// The older half of url: parse, format, resolve, and files as URLs.
const url = require('url');
for (const input of [
  'https://user:pass@host.com:8080/p/a?q=1&r=2#h',
  '/just/a/path?x=y',
  '//host/path',
  'mailto:a@b.c',
  'host:80',
  '',
  'http://a.b',
  'HTTP://EXAMPLE.com/%7Efoo/../x y',
]) {
  console.log(input, { ...url.parse(input) });
}
console.log({ ...url.parse('/p?a=1&a=2', true).query }, url.parse('//h/p', false, true).host);
console.log(
  url.format({ protocol: 'https', host: 'a.b', pathname: 'c', query: { d: [1, 2], e: 'x y' }, hash: 'f' }),
  url.format({ hostname: 'h', port: 1, search: '?s' }),
  url.format('http://a.b?x'),
);
console.log(
  url.format(new URL('https://u:p@測試.com/x?y#z'), { auth: false, fragment: false, search: false, unicode: true }),
);
console.log(
  url.resolve('/one/two/three', 'four'),
  url.resolve('http://example.com/', '/one'),
  url.resolve('http://example.com/one', '/two'),
  url.resolve('http://a/b/c', '../../d'),
);
console.log(
  url.fileURLToPath('file:///a/b%20c'),
  url.fileURLToPath(new URL('file:///x')),
  url.pathToFileURL('/a b/#c?d%e').href,
  url.pathToFileURL('rel').href.endsWith('/rel'),
  url.pathToFileURL('/dir/').pathname,
);
for (const action of [
  () => url.fileURLToPath('http://x'),
  () => url.fileURLToPath('file://h/x'),
  () => url.fileURLToPath('file:///a%2Fb'),
  () => url.fileURLToPath(5),
  () => url.pathToFileURL(5),
  () => url.parse(5),
  () => url.fileURLToPath('nonsense'),
]) {
  try {
    console.log(action());
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
console.log(
  url.domainToASCII('español.com'),
  url.domainToUnicode('xn--espaol-zwa.com'),
  url.domainToASCII('xn--iñvalid.com'),
);
console.log({ ...url.urlToHttpOptions(new URL('https://a:b@c.d:1/p?q#h')) });
console.log(url.URL === URL, url.URLSearchParams === URLSearchParams, Object.keys(url).sort().join(' '));
