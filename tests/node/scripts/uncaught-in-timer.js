// An error in a timer ends the run; what would come later does not.
setTimeout(() => console.log('never'), 5000);
setTimeout(function late() {
  throw new Error('in a timer');
}, 1);
process.on('exit', (code) => console.log('exit', code));
