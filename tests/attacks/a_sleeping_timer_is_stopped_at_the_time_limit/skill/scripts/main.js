console.log('begins');
if (process.argv[2] === 'endless') {
  setTimeout(() => {}, 1e6);
} else {
  setTimeout(() => {}, 10);
}
process.on('exit', () => console.log('ends'));
