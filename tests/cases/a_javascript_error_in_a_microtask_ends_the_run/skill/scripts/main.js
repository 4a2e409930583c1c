queueMicrotask(() => {
  throw new Error('in a microtask');
});
setTimeout(() => console.log('never printed'), 50);
