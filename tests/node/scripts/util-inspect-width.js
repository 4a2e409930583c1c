// util.inspect: how wide a terminal draws characters, which decides how lists are put into columns; quotes and escapes.
const { inspect, stripVTControlCharacters } = require('util');

const words = ['日本語', 'ｆｕｌｌ', '한국어', 'e\u0301', 'a\u200bb', '\u00ad', '🎉', '🇩🇪', '\ufeffx', 'ab', '〪', 'ｱ'];
console.log(words.concat(words, words));
console.log(Object.fromEntries(words.map((word, index) => [word, index])));
for (const text of ["it's", `it's "so"`, 'it\'s "so" `too`', '${x}\'"', '\ud800a\udc00', '\x00\x1f\x7f\x9f\b\t\n\f\r\\'])
  console.log(inspect(text), inspect([text]), inspect(Symbol(text)));
for (const text of ['\x1b[31mred\x1b[0m', '\x1b]8;;http://a\x07link\x1b]8;;\x07', '\x1b[?25l\x1b[2;3H!', '\x9b1mbold', '\x1b[38;2;1;2;3mrgb', '\x1bMup'])
  console.log(JSON.stringify(stripVTControlCharacters(text)));
