// node:repl: there is no terminal to talk at.

import { absentCall, refusedClass } from './refused.js';
import { EventEmitter } from './events/emitter.js';
import { inspect } from './util/inspect.js';

class Recoverable extends SyntaxError {
  constructor(error) {
    super();
    this.err = error;
  }
}

export default {
  start: absentCall('repl', 'start', 'there is no terminal'),
  writer: (value) => inspect(value, { showProxy: true }),
  REPLServer: refusedClass('repl', 'REPLServer', 'run:node', EventEmitter),
  REPL_MODE_SLOPPY: Symbol('repl-sloppy'),
  REPL_MODE_STRICT: Symbol('repl-strict'),
  Recoverable,
  isValidSyntax: absentCall('repl', 'isValidSyntax', 'there is no terminal'),
};
