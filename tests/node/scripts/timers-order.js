// Timers: order, arguments, clearing, refresh, intervals, references.
const log = (...text) => console.log(...text);
const never = () => log('never');

setTimeout(log, 1, 'first', 'with', 'arguments');
setTimeout(() => log('second, same delay'), 1);
setTimeout(() => log('zero is one'), 0);
const cleared = setTimeout(never, 1);
clearTimeout(cleared);
clearTimeout(undefined);
clearTimeout(null);
clearTimeout({});
clearTimeout('x');
const byNumber = setTimeout(never, 1);
clearTimeout(+byNumber);
setTimeout(never, 1)[Symbol.dispose]();
setTimeout(() => log('an odd delay is one'), 'x');
setTimeout(() => log('so is a negative one'), -5);
setTimeout(never, 600_000).unref();
const immediate = setImmediate(never);
log(immediate.hasRef(), immediate.constructor.name);
clearImmediate(immediate);
for (const bad of [undefined, 'code', 5]) {
  try {
    setTimeout(bad, 1);
  } catch (error) {
    log(error.name, error.code, error.message);
  }
}
setTimeout(second, 100);
log('main', require('timers').setTimeout === setTimeout);

function second() {
  let ticks = 0;
  const interval = setInterval(
    (step) => {
      ticks += step;
      log('tick', ticks);
      if (ticks < 3) return;
      clearInterval(interval);
      third();
    },
    2,
    1,
  );
}

function third() {
  const timer = setTimeout(() => log('late'), 200);
  log(
    timer.hasRef(),
    timer.unref().hasRef(),
    timer.ref().hasRef(),
    timer.refresh() === timer,
    typeof timer[Symbol.toPrimitive](),
    timer.constructor.name,
  );
  setTimeout(() => {
    setTimeout(() => log('nested'), 0);
    setImmediate(() => log('immediate before nested'));
    process.nextTick(() => log('tick before both'));
  }, 1);
}
