// The order of ticks, microtasks, timers and immediates.
const log = (text) => console.log(text);

setImmediate(() => {
  log('immediate');
  process.nextTick(() => log('tick of immediate'));
  Promise.resolve().then(() => log('microtask of immediate'));
  setImmediate(() => log('immediate of immediate'));
});
setImmediate(() => log('immediate 2'));
process.nextTick(log, 'tick with argument');
process.nextTick(() => {
  log('tick 2');
  process.nextTick(() => log('tick of tick'));
  Promise.resolve().then(() => log('microtask of tick'));
  queueMicrotask(() => log('queued of tick'));
});
Promise.resolve()
  .then(() => {
    log('microtask');
    process.nextTick(() => log('tick of microtask'));
    return Promise.resolve();
  })
  .then(() => log('microtask 2'));
queueMicrotask(() => log('queued'));
(async () => {
  log('async start');
  await null;
  log('after await');
  await new Promise((resolve) => process.nextTick(resolve));
  log('after awaited tick');
})();
log('main');
try {
  process.nextTick('x');
} catch (error) {
  log(`${error.code} ${error.message}`);
}
try {
  queueMicrotask(null);
} catch (error) {
  log(`${error.code} ${error.message}`);
}
