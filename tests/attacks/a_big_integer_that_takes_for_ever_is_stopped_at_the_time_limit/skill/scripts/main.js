console.log('begins');
if (process.argv[2] === 'endless') {
  console.log(String(7n ** 10n ** 7n).length);
} else {
  console.log(String(7n ** 100n).length);
}
console.log('ends');
