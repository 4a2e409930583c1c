// An error in the handler of errors.
process.on('uncaughtException', (error) => {
  console.log('handling', error.message);
  throw new Error('in the handler');
});
throw new Error('first');
