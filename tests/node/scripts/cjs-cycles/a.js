console.log('a starts');
exports.done = false;
const b = require('./b.js');
console.log('in a, b.done is', b.done);
exports.done = true;
exports.fromB = () => b.done;
console.log('a ends');
