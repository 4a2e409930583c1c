console.log('b starts');
exports.done = false;
const a = require('./a.js');
console.log('in b, a.done is', a.done, Object.keys(a));
exports.done = true;
exports.fromA = () => a.done;
console.log('b ends');
