// All of standard input at once, by number.
const fs = require('fs');
const text = fs.readFileSync(0, 'utf8');
const data = JSON.parse(text);
console.log(Object.keys(data), data.items.length, data.text);
console.log(
  JSON.stringify(
    data.items.map(({ id, ...rest }) => ({ id, fields: Object.keys(rest).length })),
    null,
    2,
  ),
);
console.log(fs.readFileSync(0).length);
