console.log('begins');
if (process.argv[2] === 'endless') {
  [2, 1].sort(() => { for (;;) {} });
} else {
  console.log([2, 1].sort((a, b) => a - b));
}
console.log('ends');
