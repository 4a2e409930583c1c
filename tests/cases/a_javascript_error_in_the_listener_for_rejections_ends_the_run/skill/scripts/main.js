process.on('unhandledRejection', (reason) => {
  console.log('heard', reason.message);
  throw new Error('in the listener');
});
Promise.reject(new Error('rejected'));
