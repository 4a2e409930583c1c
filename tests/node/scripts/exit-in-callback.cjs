// exit in a callback, right after output was written.
const big = 'x'.repeat(10_000);
process.stdout.write(`${big}\n`);
require('fs').stat('.', () => {
  console.error('leaving');
  process.exit(130);
});
