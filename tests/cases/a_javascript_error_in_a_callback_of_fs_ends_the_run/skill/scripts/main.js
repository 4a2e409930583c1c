require('node:fs').readFile(__filename, () => {
  throw new Error('in a callback');
});
