// Warnings go to standard error, with the type and code they are given.
process.on('warning', (warning) => console.log(warning.name, warning.code, warning.message, warning.detail));
process.emitWarning('plain');
process.emitWarning('typed', 'CustomWarning');
process.emitWarning('coded', 'CustomWarning', 'C001');
process.emitWarning('detailed', { type: 'Detail', code: 'D1', detail: 'more text' });
process.emitWarning(new RangeError('an error as warning'));
try {
  process.emitWarning(5);
} catch (error) {
  console.log(error.code);
}
const util = require('util');
const old = util.deprecate((a, b) => a + b, 'old() is deprecated', 'DEP_TEST');
console.log(old(1, 2), old(3, 4));
