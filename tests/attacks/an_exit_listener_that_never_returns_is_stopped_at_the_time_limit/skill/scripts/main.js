console.log('begins');
if (process.argv[2] === 'endless') {
  process.on('exit', () => { for (;;) {} });
} else {
  process.on('exit', () => console.log('exit'));
}
console.log('ends');
