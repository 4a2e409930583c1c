process.nextTick(() => {
  throw new Error('in a tick');
});
setTimeout(() => console.log('never printed'), 50);
