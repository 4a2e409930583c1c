// node:child_process: programs need a grant, and none is given to this runtime.

import { EventEmitter } from './events/emitter.js';
import { promisify } from './util/functions.js';
import { validateString } from '../internal/validators.js';
import { accessDenied } from '../internal/errors.js';
import { refusedClass, refusedPromise, runGrant } from './refused.js';

const named = (name, parameter, grant) =>
  ({
    [name](first) {
      validateString(first, parameter);
      throw accessDenied(`child_process.${name}`, grant(first));
    },
  })[name];

const nodeGrant = () => 'run:node';

const child_process = {
  _forkChild() {
    throw accessDenied('child_process._forkChild', nodeGrant());
  },
  ChildProcess: refusedClass('child_process', 'ChildProcess', 'run:PROGRAM', EventEmitter),
  exec: named('exec', 'command', runGrant),
  execFile: named('execFile', 'file', runGrant),
  execFileSync: named('execFileSync', 'file', runGrant),
  execSync: named('execSync', 'command', runGrant),
  fork: named('fork', 'modulePath', nodeGrant),
  spawn: named('spawn', 'file', runGrant),
  spawnSync: named('spawnSync', 'file', runGrant),
};

for (const name of ['exec', 'execFile']) {
  Object.defineProperty(child_process[name], promisify.custom, { value: refusedPromise('child_process', name, runGrant), configurable: true });
}

export default child_process;
