// Whole files: reading, writing, appending, copying.

import { binding } from '../binding.js';
import { absolute } from '../cwd.js';
import { EEXIST, EISDIR, uvException } from '../uv.js';
import { AbortError } from '../errors.js';
import { validateBoolean, validateInteger } from '../validators.js';
import { toBytes, toFlags, toMode, toOptions, toPath, toTarget } from './arguments.js';
import { constants } from './constants.js';
import * as files from './descriptors.js';
import { Buffer } from '../../modules/buffer.js';

const { O_CREAT, O_EXCL, O_RDONLY, O_TRUNC, O_WRONLY, S_IFDIR, S_IFREG, COPYFILE_EXCL } = constants;
const CHUNK = 65536;

/** All that is left to read of an open file. */
export function readRest(fd) {
  const status = files.statusOfFd(fd);
  if (typeof status === 'number') throw uvException(status, 'fstat');
  if (status[0] === S_IFDIR) throw uvException(EISDIR, 'read');
  const size = status[0] === S_IFREG ? Number(status[4]) : 0;
  // One byte more than there should be, so that the end is seen without another round.
  let bytes = new Uint8Array(size > 0 ? size + 1 : CHUNK);
  let length = 0;
  for (;;) {
    const count = files.read(fd, bytes, length, bytes.length - length, -1);
    if (count < 0) throw uvException(count, 'read');
    if (count === 0) break;
    length += count;
    if (length === bytes.length) {
      const larger = new Uint8Array(bytes.length * 2);
      larger.set(bytes);
      bytes = larger;
    }
  }
  return bytes.subarray(0, length);
}

/** Calls `use` with a descriptor: that of the target, or one of its path that is closed again. */
function withFile(target, flags, use) {
  if (target.fd !== undefined) return use(target.fd);
  const fd = files.openOrThrow(target.path, flags);
  try {
    return use(fd);
  } finally {
    files.close(fd);
  }
}

function throwIfAborted(signal) {
  if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
}

function decoded(bytes, encoding) {
  if (encoding === 'utf8' || encoding === 'utf-8') return binding.utf8Decode(bytes, 0, bytes.length);
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return encoding && encoding !== 'buffer' ? buffer.toString(encoding) : buffer;
}

function write(fd, bytes, flush) {
  const count = files.write(fd, bytes, 0, bytes.byteLength, -1);
  if (count < 0) throw uvException(count, 'write');
  if (flush) binding.sync(fd);
}

function writing(path, data, options, defaults) {
  const { encoding, flag, mode, signal, flush = false } = toOptions(options, { encoding: 'utf8', mode: 0o666, ...defaults });
  const flags = toFlags(flag, 'options.flag');
  toMode(mode, 'mode', 0o666);
  validateBoolean(flush, 'options.flush');
  const target = toTarget(path);
  const bytes = toBytes(data, encoding);
  return () => {
    throwIfAborted(signal);
    withFile(target, flags, (fd) => write(fd, bytes, flush));
  };
}

export const contents = {
  readFile(path, options) {
    const { encoding, flag, signal } = toOptions(options, { flag: 'r' });
    const target = toTarget(path);
    const flags = toFlags(flag, 'options.flag');
    return () => {
      throwIfAborted(signal);
      return decoded(withFile(target, flags, readRest), encoding);
    };
  },

  writeFile: (path, data, options) => writing(path, data, options, { flag: 'w' }),
  appendFile: (path, data, options) => writing(path, data, options, { flag: 'a' }),

  copyFile(from, to, mode = 0) {
    from = toPath(from, 'src');
    to = toPath(to, 'dest');
    validateInteger(mode, 'mode', 0, 7);
    return () => copyFile(from, to, (mode & COPYFILE_EXCL) !== 0);
  },
};

/** Copies a file's content. Both names are in the errors, as in Node's. */
export function copyFile(from, to, exclusive) {
  const fail = (errno) => { throw uvException(errno, 'copyfile', from, to); };
  const input = files.open(from, O_RDONLY);
  if (input < 0) fail(input);
  const status = files.statusOfFd(input);
  if (typeof status !== 'number' && status[0] === S_IFDIR) {
    files.close(input);
    fail(EISDIR);
  }
  // The same file under both names would be emptied before it is read.
  const there = files.statusOf(to, true);
  if (typeof there !== 'number' && !exclusive && there[1] === status[1] && there[2] === status[2] && absolute(from) === absolute(to)) {
    files.close(input);
    return;
  }
  const output = typeof there !== 'number' && exclusive ? EEXIST : files.open(to, O_WRONLY | O_CREAT | O_TRUNC | (exclusive ? O_EXCL : 0));
  let result = output;
  if (output >= 0) {
    const bytes = new Uint8Array(CHUNK * 4);
    for (;;) {
      result = files.read(input, bytes, 0, bytes.length, -1);
      if (result > 0) result = files.write(output, bytes, 0, result, -1);
      if (result <= 0) break;
    }
    files.close(output);
  }
  files.close(input);
  if (result < 0) fail(result);
}
