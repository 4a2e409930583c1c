// URL: parsing, normalising, setting, failing.
const { URL: Same } = require('url');
console.log(Same === URL);
for (const input of [
  'https://user:pa%20ss@sub.Example.COM:8080/p/a/t/h/../x?query=string&a=1#hash',
  'http://example.com:80',
  'file:///C:/a/../b',
  'mailto:a@b.c',
  'data:text/plain,hi there',
  'https://münchen.de/ü?ö#ä',
  'http://[::1]:3000/',
  'http://0x7f.1/',
  'blob:https://a.b/x',
  'javascript:alert(1)',
  'ws://x/%zz',
  '  https://trim.me  ',
  'https://a.b/?q=a b&c=%26',
]) {
  const url = new URL(input);
  console.log(
    url.href,
    '|',
    url.origin,
    '|',
    url.protocol,
    url.username,
    url.password,
    url.host,
    url.hostname,
    url.port,
    url.pathname,
    url.search,
    url.hash,
  );
}
console.log(
  new URL('../c?d#e', 'https://a.b/x/y/z').href,
  new URL('//other.com/p', 'https://a.b').href,
  new URL('?only', 'http://a/b?c').href,
  new URL('', 'http://a/b#c').href,
);
const url = new URL('http://a.b/c');
url.protocol = 'https:';
url.host = 'x.y:99';
url.pathname = '/new path';
url.search = 'q=1 2';
url.hash = 'frag';
url.username = 'me@';
url.port = '443';
console.log(url.href, String(url) === url.toString(), JSON.stringify({ url }), url.searchParams.get('q'));
url.port = 'x';
url.protocol = 'nope::';
url.hostname = 'bad host';
url.search = '';
url.hash = '';
console.log(url.href);
console.log(new URL('https://a.b/?x=1'));
for (const bad of ['nonsense', '', 'http://', 'http://a b', 'http://[1', '/relative', 'https://a:99999', 'http://%']) {
  try {
    new URL(bad);
  } catch (error) {
    console.log(error.name, error.code, error.message, error.input, error instanceof TypeError);
  }
}
try {
  new URL('x', 'y');
} catch (error) {
  console.log(error.code, error.input, error.base);
}
try {
  new URL();
} catch (error) {
  console.log(error.code, error.message);
}
console.log(
  URL.canParse('http://a'),
  URL.canParse('a'),
  URL.canParse('a', 'http://b'),
  URL.parse('x'),
  URL.parse('http://p/').href,
);
console.log(Object.prototype.toString.call(url), Object.keys(url), 'href' in url);
