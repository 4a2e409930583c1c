console.log('begins');
if (process.argv[2] === 'endless') {
  const again = () => Promise.resolve().then(again);
  again();
  setTimeout(() => console.log('a timer ran'), 0);
} else {
  let left = 1000;
  const again = () => left-- > 0 && Promise.resolve().then(again);
  again();
}
process.on('exit', () => console.log('ends'));
