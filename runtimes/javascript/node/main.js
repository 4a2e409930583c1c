// The Node layer: evaluated once, when the snapshot is made. `run` is what the engine calls for a script.

import { binding } from './internal/binding.js';
import { process } from './internal/process.js';
import './globals/index.js';
import './internal/stdio.js';
import './internal/process_modules.js';
import { run } from './internal/main.js';
import { addBuiltins } from './internal/loader/builtins.js';
import console from './modules/console.js';
import module from './modules/module.js';
import timers from './modules/timers.js';
import timersPromises from './modules/timers/promises.js';
import { Atomics } from './internal/atomics.js';
import { words } from './internal/words/words.js';
import { queueMicrotask } from './internal/task.js';
import fs from './modules/fs.js';
import fsPromises from './modules/fs/promises.js';

binding.takeOverStacks();
binding.setWords(words);
addBuiltins({ console, fs, 'fs/promises': fsPromises, module, process, timers, 'timers/promises': timersPromises });

const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate } = timers;
const enumerable = { global: globalThis, clearImmediate, setImmediate, clearInterval, clearTimeout, setInterval, setTimeout, queueMicrotask };
for (const [name, value] of Object.entries(enumerable)) {
  Object.defineProperty(globalThis, name, { value, writable: true, enumerable: true, configurable: true });
}
for (const [name, value] of Object.entries({ Atomics, console, process })) {
  Object.defineProperty(globalThis, name, { value, writable: true, enumerable: false, configurable: true });
}
Object.defineProperty(globalThis, Symbol.toStringTag, { value: 'global', configurable: true });

// The engine's own, which V8 has not.
delete globalThis.InternalError;

binding.setMain(run);
