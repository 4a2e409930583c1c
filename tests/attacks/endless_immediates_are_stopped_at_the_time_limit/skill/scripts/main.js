console.log('begins');
if (process.argv[2] === 'endless') {
  const again = () => setImmediate(again);
  again();
} else {
  let left = 1000;
  const again = () => left-- > 0 && setImmediate(again);
  again();
}
process.on('exit', () => console.log('ends'));
