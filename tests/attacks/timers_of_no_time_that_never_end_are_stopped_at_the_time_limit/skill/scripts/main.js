console.log('begins');
if (process.argv[2] === 'endless') {
  setInterval(() => {}, 0);
} else {
  let left = 100;
  const timer = setInterval(() => --left || clearInterval(timer), 0);
}
process.on('exit', () => console.log('ends'));
