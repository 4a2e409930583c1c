// The module `timers/promises`.

import { clearImmediate, clearInterval, clearTimeout, setImmediate as immediate, setInterval as interval, setTimeout as timeout } from '../../internal/timers.js';
import { AbortError } from '../../internal/errors.js';
import { validateAbortSignal, validateBoolean, validateNumber, validateObject } from '../../internal/validators.js';

function check(options) {
  validateObject(options, 'options');
  const { signal, ref = true } = options;
  if (signal !== undefined) validateAbortSignal(signal, 'options.signal');
  validateBoolean(ref, 'options.ref');
  return { signal, ref };
}

const aborted = (signal) => new AbortError(undefined, { cause: signal.reason });

/** A promise that `begin` fulfils in its own time, and that `end` takes back when the signal fires. */
function promised(value, options, begin, end) {
  let signal;
  let ref;
  try {
    ({ signal, ref } = check(options));
  } catch (error) {
    return Promise.reject(error);
  }
  if (signal?.aborted) return Promise.reject(aborted(signal));
  return new Promise((resolve, reject) => {
    const timer = begin(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve(value);
    });
    if (!ref) timer.unref();
    function onAbort() {
      end(timer);
      reject(aborted(signal));
    }
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

export function setTimeout(delay, value, options = {}) {
  try {
    if (delay !== undefined) validateNumber(delay, 'delay');
  } catch (error) {
    return Promise.reject(error);
  }
  return promised(value, options, (done) => timeout(done, delay), clearTimeout);
}

export function setImmediate(value, options = {}) {
  return promised(value, options, (done) => immediate(done), clearImmediate);
}

export async function* setInterval(delay, value, options = {}) {
  if (delay !== undefined) validateNumber(delay, 'delay');
  const { signal, ref } = check(options);
  if (signal?.aborted) throw aborted(signal);
  let due = 0;
  let wake;
  const timer = interval(() => {
    due++;
    wake?.();
  }, delay);
  if (!ref) timer.unref();
  const onAbort = () => wake?.();
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    for (;;) {
      if (signal?.aborted) throw aborted(signal);
      if (due === 0) await new Promise((resolve) => { wake = resolve; });
      if (signal?.aborted) throw aborted(signal);
      for (; due > 0; due--) yield value;
    }
  } finally {
    clearInterval(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}

const scheduler = {
  wait: (delay, options) => setTimeout(delay, undefined, options),
  yield: () => setImmediate(),
};

export default { setTimeout, setImmediate, setInterval, scheduler };
