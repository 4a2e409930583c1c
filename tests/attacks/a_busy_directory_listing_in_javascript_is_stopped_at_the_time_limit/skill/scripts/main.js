console.log('begins');
if (process.argv[2] === 'endless') {
  for (;;) require('node:fs').readdirSync('.');
} else {
  require('node:fs').readdirSync('.');
}
console.log('ends');
