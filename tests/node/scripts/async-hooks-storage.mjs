// AsyncLocalStorage follows a run through callbacks and promises; performance and channels beside it.
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { performance, PerformanceObserver } from 'node:perf_hooks';
import { channel, subscribe } from 'node:diagnostics_channel';

const storage = new AsyncLocalStorage();
const log = (text) => console.log(text, storage.getStore());
await Promise.all(
  [1, 2].map((id) =>
    storage.run({ id }, async () => {
      log('start');
      await null;
      log('after await');
      await new Promise((resolve) => setTimeout(resolve, id * 60));
      log('after timer');
      await new Promise((resolve) =>
        process.nextTick(() => {
          log('in tick');
          resolve();
        }),
      );
    }),
  ),
);
log('outside');
console.log(
  storage.run('x', (...args) => [storage.getStore(), ...args], 1, 2),
  storage.exit(() => storage.getStore()),
);
storage.enterWith('entered');
setImmediate(() => log('immediate'));
const bound = storage.run('bound', () => AsyncResource.bind(() => storage.getStore()));
const snapshot = storage.run('snapshot', () => AsyncLocalStorage.snapshot());
console.log(
  bound(),
  snapshot(() => storage.getStore()),
);
subscribe('my-channel', (message, name) => console.log(name, message));
channel('my-channel').publish({ some: 'data' });
console.log(channel('other').hasSubscribers, channel('my-channel').hasSubscribers);
performance.mark('a');
performance.mark('b');
const measure = performance.measure('a to b', 'a', 'b');
console.log(
  measure.name,
  measure.entryType,
  measure.duration >= 0,
  performance.getEntriesByName('a').length,
  performance.getEntriesByType('mark').length,
  performance.timerify((x) => x + 1)(1),
  typeof performance.toJSON().timeOrigin,
);
performance.clearMarks();
console.log(
  performance.getEntriesByType('mark').length,
  typeof PerformanceObserver,
  performance.eventLoopUtilization().utilization >= 0,
);
