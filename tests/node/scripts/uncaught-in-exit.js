// An error in an exit handler.
process.on('exit', () => {
  console.log('exit handler');
  throw new Error('while leaving');
});
console.log('main');
