// Handlers take the errors that nothing else took, and the run goes on.
process.on('uncaughtExceptionMonitor', (error, origin) => console.log('monitor', error.message, origin));
process.on('uncaughtException', (error, origin) => {
  console.log('caught', error instanceof Error ? error.message : error, origin);
});
process.on('unhandledRejection', (reason, promise) => {
  console.log('rejection', reason instanceof Error ? reason.message : reason, promise instanceof Promise);
});
process.on('rejectionHandled', () => console.log('handled after all'));

setTimeout(() => { throw new Error('in a timer'); }, 1);
setTimeout(() => { throw 'a string'; }, 5);
setTimeout(() => Promise.reject(new Error('rejected')), 10);
setTimeout(() => Promise.reject(undefined), 15);
setTimeout(() => process.nextTick(() => { throw new TypeError('in a tick'); }), 20);
setTimeout(() => queueMicrotask(() => { throw new RangeError('in a microtask'); }), 25);
setTimeout(() => new (require('events'))().emit('error', new Error('no listener')), 30);
setTimeout(() => {
  const late = Promise.reject(new Error('handled late'));
  setTimeout(() => late.catch(() => console.log('late catch')), 5);
}, 35);
process.on('exit', (code) => console.log('exit', code));
throw new Error('in the main script');
