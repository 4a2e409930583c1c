// exit in a callback, with output still to be written.
const big = 'x'.repeat(70_000);
process.stdout.write(`${big}\n`);
require('fs').stat('.', () => {
  console.error('leaving');
  process.exit(130);
});
