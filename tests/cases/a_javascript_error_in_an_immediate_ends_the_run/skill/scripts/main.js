setImmediate(() => {
  throw new Error('in an immediate');
});
setTimeout(() => console.log('never printed'), 50);
