// One run: a script as the main module, from its start to its exit code.

import { binding } from './binding.js';
import { start } from './start.js';
import { begin, finalCode, process } from './process.js';
import { drain, drainFromJob, stopTicks } from './task.js';
import { runLoop } from './loop.js';
import { fail } from './fatal.js';
import { formatOf, setMainSource, sourceOf } from './loader/formats.js';
import { loadFile } from './loader/cjs.js';
import { importNow, setMainUrl } from './loader/esm.js';
import { urlOf } from './loader/urls.js';
import { excerpt } from './uncaught.js';

const { apply } = Reflect;
const { then } = Promise.prototype;

// The promise of the main module's end, if it is an ES module.
let main;
const UNSETTLED = 13;

export function run(script, source, args, cwd) {
  start();
  begin(script, args, cwd);
  setMainSource(script, source);
  try {
    execute(script);
  } catch (error) {
    fail(error, 'uncaughtException');
    drain();
  }
  runLoop();
  return end(script);
}

function execute(script) {
  binding.forgetThrow();
  if (formatOf(sourceOf(script)) !== 'module') {
    loadFile(script, null, true);
    drain();
    return;
  }
  const url = urlOf(script);
  setMainUrl(url);
  [main] = importNow(url);
  const failed = (error) => fail(error, 'unhandledRejection');
  apply(then, main, [undefined, failed]);
  drainFromJob();
}

function end(script) {
  if (main && binding.promiseDetails(main)[0] === 0 && process.exitCode === undefined) return unsettled(script);
  // What listeners start runs as well, and then they are told again.
  for (;;) {
    tell('beforeExit');
    drain();
    if (!runLoop()) break;
  }
  process._exiting = true;
  tell('exit');
  stopTicks();
  return finalCode();
}

function tell(event) {
  try {
    process.emit(event, Number(process.exitCode ?? 0));
  } catch (error) {
    fail(error, 'uncaughtException');
  }
}

/** Nothing is left that could go on with the top-level `await`. */
function unsettled(script) {
  process.exitCode = UNSETTLED;
  process._exiting = true;
  tell('exit');
  stopTicks();
  if (process.exitCode === UNSETTLED) {
    const url = urlOf(script);
    // The engine does not tell which one it is; that of the last line that can be one is the best guess.
    const lines = sourceOf(script).original.split('\n');
    const line = lines.findLastIndex((text) => /^(?![\s/*}]).*\bawait\b/.test(text)) + 1;
    const shown = line > 0 ? excerpt([url, line, lines[line - 1].indexOf('await') + 1]) : `${url}\n`;
    binding.writeText(2, `Warning: Detected unsettled top-level await at ${shown}\n\n\n`);
  }
  return finalCode();
}
