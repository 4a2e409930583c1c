// node:tty: nothing here is a terminal.

import { nodeError } from '../internal/errors.js';
import stream from './stream.js';

function isatty() {
  return false;
}

const noTerminal = (name) => nodeError(Error, 'ERR_TTY_INIT_FAILED', `TTY initialization failed: ${name} needs a terminal, and the sandbox has none`);

function checkFd(fd) {
  if (fd >> 0 !== fd || fd < 0) throw nodeError(RangeError, 'ERR_INVALID_FD', `"fd" must be a positive integer: ${fd}`);
}

function ReadStream(fd) {
  checkFd(fd);
  throw noTerminal('tty.ReadStream');
}
Object.setPrototypeOf(ReadStream.prototype, stream.Duplex.prototype);
Object.setPrototypeOf(ReadStream, stream.Duplex);

function WriteStream(fd) {
  checkFd(fd);
  throw noTerminal('tty.WriteStream');
}
Object.setPrototypeOf(WriteStream.prototype, stream.Duplex.prototype);
Object.setPrototypeOf(WriteStream, stream.Duplex);

export default { isatty, ReadStream, WriteStream };
