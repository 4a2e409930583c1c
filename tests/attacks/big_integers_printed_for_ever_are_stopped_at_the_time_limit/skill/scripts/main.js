console.log('begins');
if (process.argv[2] === 'endless') {
  for (;;) String(7n ** 300000n);
} else {
  console.log(String(7n ** 100n).length);
}
console.log('ends');
