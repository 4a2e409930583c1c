// A queue with concurrency, retries with backoff, progress events and a deadline.
import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

class Queue extends EventEmitter {
  #running = 0;
  #waiting = [];
  constructor({ concurrency = 2, retries = 2, backoff = 2 } = {}) {
    super();
    Object.assign(this, { concurrency, retries, backoff });
  }
  add(name, task, { signal } = {}) {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ name, task, signal, resolve, reject });
      this.#next();
    });
  }
  async #next() {
    if (this.#running >= this.concurrency || this.#waiting.length === 0) return;
    this.#running++;
    const { name, task, signal, resolve, reject } = this.#waiting.shift();
    this.emit('start', name);
    try {
      resolve(await this.#attempt(name, task, signal));
    } catch (error) {
      reject(error);
    } finally {
      this.#running--;
      if (this.#running === 0 && this.#waiting.length === 0) this.emit('idle');
      this.#next();
    }
  }
  async #attempt(name, task, signal) {
    for (let attempt = 1; ; attempt++) {
      signal?.throwIfAborted();
      try {
        return await task({ attempt, signal });
      } catch (error) {
        if (attempt > this.retries || error.fatal)
          throw new Error(`${name} failed after ${attempt} attempt(s)`, { cause: error });
        this.emit('retry', name, attempt, error.message);
        await sleep(this.backoff ** attempt, undefined, { signal });
      }
    }
  }
}

const queue = new Queue({ concurrency: 1 });
queue.on('start', (name) => console.log('start', name));
queue.on('retry', (name, attempt, message) => console.log(`retry ${name} (${attempt}): ${message}`));
queue.once('idle', () => console.log('idle'));
const controller = new AbortController();
const results = await Promise.allSettled([
  queue.add('steady', async () => 'done at once'),
  queue.add('flaky', async ({ attempt }) => {
    if (attempt < 3) throw new Error(`attempt ${attempt}`);
    return `done at ${attempt}`;
  }),
  queue.add('hopeless', async () => {
    throw new Error('never works');
  }),
  queue.add('fatal', () => {
    throw Object.assign(new TypeError('bad input'), { fatal: true });
  }),
  queue.add(
    'aborted',
    async ({ signal }) => {
      controller.abort(new Error('deadline'));
      await sleep(1000, null, { signal });
    },
    { signal: controller.signal },
  ),
]);
for (const { status, value, reason } of results)
  console.log(status, value ?? `${reason.message} <- ${reason.cause?.message}`);
const batches = Object.entries(Object.groupBy(results, ({ status }) => status)).map(([key, list]) => [
  key,
  list.length,
]);
console.log(Object.fromEntries(batches));
