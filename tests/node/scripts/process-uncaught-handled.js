// Handlers take the errors that nothing else took, and the run goes on.
process.on('uncaughtExceptionMonitor', (error, origin) => console.log('monitor', error.message, origin));
process.on('uncaughtException', (error, origin) => {
  console.log('caught', error instanceof Error ? error.message : error, origin);
});
process.on('unhandledRejection', (reason, promise) => {
  console.log('rejection', reason instanceof Error ? reason.message : reason, promise instanceof Promise);
});
process.on('rejectionHandled', () => console.log('handled after all'));
process.on('exit', (code) => console.log('exit', code));

const steps = [
  () => {
    throw new Error('in a timer');
  },
  () => {
    throw 'a string';
  },
  () => Promise.reject(new Error('rejected')),
  () => Promise.reject(undefined),
  () =>
    process.nextTick(() => {
      throw new TypeError('in a tick');
    }),
  () =>
    queueMicrotask(() => {
      throw new RangeError('in a microtask');
    }),
  () => new (require('events'))().emit('error', new Error('no listener')),
  () => {
    const late = Promise.reject(new Error('handled late'));
    setTimeout(() => late.catch(() => console.log('late catch')), 1);
  },
];
function step() {
  if (steps.length > 1) setTimeout(step, 1);
  steps.shift()();
}
setTimeout(step, 1);
throw new Error('in the main script');
