console.log('begins');
setTimeout(function later() {
  throw new Error('in a timer');
}, 1);
setTimeout(() => console.log('never printed'), 50);
