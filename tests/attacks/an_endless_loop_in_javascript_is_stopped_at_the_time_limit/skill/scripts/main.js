console.log('begins');
if (process.argv[2] === 'endless') {
  for (;;) {}
} else {
  for (let i = 0; i < 1000; i++) {}
}
console.log('ends');
