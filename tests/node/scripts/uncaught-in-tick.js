// Errors in a tick come before microtasks.
process.nextTick(() => {
  throw new SyntaxError('made by hand, in a tick');
});
Promise.resolve().then(() => console.log('never'));
setImmediate(() => console.log('never'));
