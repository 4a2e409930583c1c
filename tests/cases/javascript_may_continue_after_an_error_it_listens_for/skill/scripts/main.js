process.on('uncaughtException', (error, origin) => console.log(origin, error.message));
process.on('unhandledRejection', (reason) => console.log('rejected', reason));
setTimeout(() => {
  throw new Error('thrown');
}, 1);
Promise.reject(7);
setTimeout(() => console.log('goes on'), 20);
