console.log('begins');
if (process.argv[2] === 'endless') {
  /^(a+)+$/.test('a'.repeat(60) + '!');
} else {
  console.log(/^(a+)+$/.test('a'.repeat(10) + '!'));
}
console.log('ends');
