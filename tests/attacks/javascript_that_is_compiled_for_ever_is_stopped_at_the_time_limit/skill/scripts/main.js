console.log('begins');
if (process.argv[2] === 'endless') {
  for (;;) new Function('return ' + '['.repeat(100) + ']'.repeat(100));
} else {
  new Function('return ' + '['.repeat(100) + ']'.repeat(100));
}
console.log('ends');
