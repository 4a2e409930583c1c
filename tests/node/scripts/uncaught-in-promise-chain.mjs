// An error in a chain without a catch; the exit code that was set does not survive.
process.exitCode = 5;
process.on('exit', (code) => console.log('exit', code, process.exitCode));
Promise.resolve({ items: [] })
  .then(({ items }) => {
    if (items.length === 0) throw new Error('no items');
    return items;
  })
  .then((items) => console.log('never', items))
  .finally(() => console.log('finally'));
