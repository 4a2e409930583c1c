// The three faces of each operation: `nameSync`, `name` with a callback, and a promise.

import { defer, promised } from '../task.js';
import { toCallback } from './arguments.js';
import { contents } from './content.js';
import { copying } from './copy.js';
import { opening } from './dir.js';
import { operations } from './operations.js';
import { trees } from './trees.js';

export const all = { ...operations, ...contents, ...trees, ...copying, ...opening };

const named = (name, f) => Object.defineProperty(f, 'name', { value: name, configurable: true });

export function synchronous(name) {
  const prepare = all[name];
  return named(`${name}Sync`, (...args) => prepare(...args)());
}

// Calls whose callback gets more than a value.
const SECOND = { read: 'buffer', write: 'buffer', readv: 'buffers', writev: 'buffers' };

export function withCallback(name) {
  const prepare = all[name];
  const second = SECOND[name];
  return named(name, (...args) => {
    const last = args[args.length - 1];
    const callback = toCallback(typeof last === 'function' ? last : undefined);
    args.length--;
    const work = prepare(...args);
    if (!second) {
      defer(work, callback);
      return;
    }
    let given = args[1];
    if (name === 'read' && given && !ArrayBuffer.isView(given)) given = given.buffer;
    defer(work, (error, value) => {
      if (error) callback(error);
      else callback(null, value ?? 0, given);
    });
  });
}

export function withPromise(name) {
  const prepare = all[name];
  return named(name, async (...args) => promised(prepare(...args)));
}
