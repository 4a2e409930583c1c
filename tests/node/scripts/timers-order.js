// Timers: order, arguments, clearing, refresh, intervals, references.
const log = (...text) => console.log(...text);
setTimeout(log, 20, 'third', 'with', 'arguments');
setTimeout(() => log('first'), 1);
setTimeout(() => log('second, same delay'), 1);
setTimeout(() => log('zero is one'), 0);
const cleared = setTimeout(() => log('never'), 1);
clearTimeout(cleared);
clearTimeout(undefined); clearTimeout(null); clearTimeout({}); clearTimeout('x');
let ticks = 0;
const interval = setInterval((step) => {
  ticks += step;
  log('tick', ticks);
  if (ticks === 3) clearInterval(interval);
}, 30, 1);
setTimeout(() => log('never: does not keep the run alive'), 60_000).unref();
const timer = setTimeout(() => log('refreshed'), 5);
log(timer.hasRef(), timer.unref().hasRef(), timer.ref().hasRef(), timer.refresh() === timer, typeof timer[Symbol.toPrimitive](), timer.constructor.name);
const immediate = setImmediate(() => log('never'));
log(immediate.hasRef(), immediate.constructor.name);
clearImmediate(immediate);
const byNumber = setTimeout(() => log('never'), 1);
clearTimeout(+byNumber);
setTimeout(() => { setTimeout(() => log('nested'), 0); setImmediate(() => log('immediate before nested')); process.nextTick(() => log('tick before both')); }, 200);
for (const bad of [undefined, 'code', 5]) {
  try { setTimeout(bad, 1); } catch (error) { log(error.name, error.code, error.message); }
}
setTimeout(() => log('odd delays'), 'x');
setTimeout(() => log('negative'), -5);
const using = setTimeout(() => log('never'), 1);
using[Symbol.dispose]();
log('main', require('timers').setTimeout === setTimeout);
