// Strings, patterns and Unicode.
const text = 'The Quick brown fox — naïve café 😀 日本';
console.log(
  text.length,
  [...text].length,
  text.toUpperCase(),
  text.at(-1),
  text.codePointAt(33),
  text.slice(-4, -2),
  text.substring(9, 4),
  text.substr(4, 5),
  text.split(' ').length,
);
console.log(
  'abc'.padStart(6, '12'),
  'abc'.padEnd(5, '-'),
  ' \t\n x \u00a0\ufeff'.trim().length,
  'x'.repeat(3),
  'a-b-c'.replaceAll('-', '+'),
  'aXbX'.replace('X', '$&$&$$'),
  'abc'.includes('b', 2),
  'abc'.localeCompare('abd'),
  'ß'.toUpperCase(),
  'İ'.toLowerCase().length,
  'a\u0301'.normalize('NFC').length,
);
console.log(
  '2024-02-29'.match(/(?<y>\d{4})-(?<m>\d\d)-(?<d>\d\d)/).groups,
  '2024-02-29'.replace(/(?<y>\d+)-(?<m>\d+)-(?<d>\d+)/, '$<d>.$<m>.$<y>'),
  [...'a1b22'.matchAll(/\d+/g)].map((m) => [m[0], m.index]),
);
console.log(
  'price: $5, €10'.match(/(?<=[$€])\d+/g),
  'foobar'.match(/foo(?!baz)/)?.[0],
  'aaa'.match(/a{2}?/)[0],
  'a\nb'.match(/a.b/s)?.[0],
  'A\nB'.match(/^b$/im)?.[0],
  /\p{Lu}\p{L}+/u.exec(text)[0],
  /\p{Script=Han}+/u.exec(text)[0],
  /\p{Emoji_Presentation}/u.test('😀'),
  /[\p{L}--[a-z]]/v.test('é'),
  /^.$/u.test('😀'),
  /(\w)\1/.test('hello'),
);
const sticky = /fo+/y;
sticky.lastIndex = 3;
console.log(
  sticky.exec('barfoo')?.[0],
  sticky.lastIndex,
  /a|ab/.exec('abc')[0],
  /(?:a|b)+?c/.exec('abac').index,
  /x*/g[Symbol.replace]('abc', '-'),
  'a,b;c'.split(/([,;])/),
  'abc'.split(''),
  'ab'.split(/(?:)/u),
  /\bfox\b/d.exec(text).indices[0],
);
console.log(
  /a/dgimsuy.flags,
  String(/[/]\/x/),
  new RegExp('/').source,
  RegExp.prototype.toString.call(/a/g),
  new RegExp(/x/g, 'i').flags,
  /(?i:a)b/.test('Ab'),
  'x'.search(/y/),
  'aBc'.replace(/[A-Z]/g, (m, offset) => `<${m}${offset}>`),
);
for (const bad of ['[', '(', '*', '(?<a>x)(?<a>y)', '\\p{Nope}', 'a{2,1}', '(?<=a']) {
  try {
    new RegExp(bad, 'u');
    console.log(bad, 'accepted');
  } catch (error) {
    console.log(bad, error.name);
  }
}
console.log(
  escape('ü €'),
  unescape('%FC%u20AC'),
  encodeURIComponent('a b&ü/€'),
  encodeURI('http://x/ü?a=b c#d'),
  decodeURIComponent('%E2%82%AC'),
  String.raw`a\n${1}`,
  `line
two`,
  'tab\tü'.length,
);
try {
  decodeURIComponent('%');
} catch (error) {
  console.log(error.name);
}
console.log(
  String.fromCodePoint(128512),
  String.fromCharCode(65, 66),
  'z'.charCodeAt(),
  '\u{1F600}' === '😀',
  'a'.isWellFormed(),
  '\ud800'.toWellFormed() === '\ufffd',
  ['é', 'e', 'z', 'a', 'Z'].sort(),
  'abc' < 'abd',
  'B' < 'a',
  'anchor'.anchor('x'),
);
const tag = (strings, ...values) => strings.raw.map((part, i) => part + (values[i] ?? '')).join('|');
console.log(
  tag`a${1}b\n${2}c`,
  typeof Symbol.for('x').description,
  'I'.concat('J', 5),
  'abcabc'.lastIndexOf('c', -1),
  'abc'.endsWith('b', 2),
  [...'👨‍👩‍👧'].length,
);
