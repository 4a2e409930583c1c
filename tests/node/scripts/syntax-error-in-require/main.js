// A file that does not parse, required.
try {
  require('./broken.js');
} catch (error) {
  console.log(error.name, error instanceof SyntaxError, error.stack.split('\n')[0].endsWith('/broken.js:2'));
}
require('./broken.js');
