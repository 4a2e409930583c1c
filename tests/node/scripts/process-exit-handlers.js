// Handlers of the end, in order, with the code they see and change.
process.on('beforeExit', (code) => {
  console.log('beforeExit', code, process.exitCode);
  if (!process.exitCode) {
    process.exitCode = 3;
    setTimeout(() => console.log('woken by beforeExit'), 1);
  }
});
process.on('exit', (code) => {
  console.log('exit', code, process.exitCode);
  setTimeout(() => console.log('never'), 0);
  process.exitCode = 42;
});
process.once('exit', (code) => console.log('second', code));
console.log('main', process.exitCode);
