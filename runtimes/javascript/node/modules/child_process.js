// node:child_process: programs need a grant, and none is given to this runtime.

import { EventEmitter } from './events/emitter.js';
import { promisify } from './util/functions.js';
import { validateString } from '../internal/validators.js';
import { accessDenied } from '../internal/errors.js';
import { refusedClass, refusedPromise, lineGrant, programGrant } from './refused.js';

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
  exec: named('exec', 'command', lineGrant),
  execFile: named('execFile', 'file', programGrant),
  execFileSync: named('execFileSync', 'file', programGrant),
  execSync: named('execSync', 'command', lineGrant),
  fork: named('fork', 'modulePath', nodeGrant),
  spawn: named('spawn', 'file', programGrant),
  spawnSync: named('spawnSync', 'file', programGrant),
};

for (const [name, grant] of [['exec', lineGrant], ['execFile', programGrant]]) {
  Object.defineProperty(child_process[name], promisify.custom, { value: refusedPromise('child_process', name, grant), configurable: true });
}

export default child_process;
