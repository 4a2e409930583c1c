// timers/promises: waiting, values, intervals, aborting.
import { setTimeout as sleep, setImmediate as soon, setInterval as every, scheduler } from 'timers/promises';
import timers from 'timers';

console.log(await sleep(1, 'value'), await soon('now'), await sleep(), timers.promises.setTimeout === sleep);
const order = [];
await Promise.all([
  sleep(200).then(() => order.push('slow')),
  sleep(1).then(() => order.push('fast')),
  soon().then(() => order.push('immediate')),
]);
console.log(order.at(-1), order.length);
let count = 0;
for await (const value of every(2, 'again')) {
  console.log(value);
  if (++count === 3) break;
}
const controller = new AbortController();
const long = sleep(60_000, null, { signal: controller.signal });
controller.abort();
console.log(await long.catch((error) => [error.name, error.code, error.message, error.cause?.name]));
const reason = new AbortController();
reason.abort(new Error('because'));
console.log(await sleep(5, null, { signal: reason.signal }).catch((error) => [error.name, error.cause.message]));
console.log(
  await sleep(5, null, { signal: 'x' }).catch((error) => error.code),
  await sleep(1, 5, { ref: 'x' }).catch((error) => error.code),
);
await scheduler.wait(1);
await scheduler.yield();
console.log(await Promise.race([sleep(200, 'late'), sleep(2, 'early')]));
