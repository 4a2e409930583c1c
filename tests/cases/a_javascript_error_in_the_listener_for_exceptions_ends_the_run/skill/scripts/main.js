process.on('uncaughtException', (error) => {
  console.log('heard', error.message);
  throw new Error('in the listener');
});
throw new Error('first');
