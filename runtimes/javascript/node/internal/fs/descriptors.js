// Open files. Beside what WASI opens there are names that every Linux has: the standard streams, and /dev/null.

import { binding } from '../binding.js';
import { absolute } from '../cwd.js';
import { uvException } from '../uv.js';
import * as changes from './changes.js';

const NAMES = { __proto__: null, '/dev/stdin': 0, '/dev/stdout': 1, '/dev/stderr': 2 };
const NULL_PATH = '/dev/null';
// No descriptor that WASI gives is as high as this.
const NULL_FD = 1 << 30;
const NULL_STATUS = [0o020000, 5, 4, 1, 0, 0, 0, 0, 0, 0, 0];
const EAGAIN = -11;

// How often each standard stream was opened by name: closing it then leaves the stream itself open.
const borrowed = [0, 0, 0];

function standard(path) {
  if (path in NAMES) return NAMES[path];
  const match = /^\/(?:dev|proc\/self)\/fd\/([0-2])$/.exec(path);
  return match ? Number(match[1]) : undefined;
}

/** A descriptor, or a negative errno. */
export function open(path, flags) {
  const whole = absolute(path);
  if (whole.startsWith('/dev/') || whole.startsWith('/proc/')) {
    const fd = standard(whole);
    if (fd !== undefined) {
      borrowed[fd]++;
      return fd;
    }
    if (whole === NULL_PATH) return NULL_FD;
  }
  return changes.open(whole, flags);
}

export function openOrThrow(path, flags) {
  const fd = open(path, flags);
  if (fd < 0) throw uvException(fd, 'open', path);
  return fd;
}

export function close(fd) {
  if (fd === NULL_FD) return 0;
  if (fd <= 2 && borrowed[fd] > 0) {
    borrowed[fd]--;
    return 0;
  }
  return binding.close(fd);
}

export function read(fd, bytes, offset, length, position) {
  if (fd === NULL_FD) return 0;
  for (;;) {
    const count = binding.read(fd, bytes, offset, length, position);
    if (count !== EAGAIN || fd !== 0) return count;
    binding.wait(-1, true);
  }
}

/** Writes all of it; how much was written, or a negative errno. */
export function write(fd, bytes, offset, length, position) {
  if (fd === NULL_FD) return length;
  let done = 0;
  while (done < length) {
    const count = binding.write(fd, bytes, offset + done, length - done, position < 0 ? -1 : position + done);
    if (count === EAGAIN) continue;
    if (count < 0) return count;
    if (count === 0) break;
    done += count;
  }
  return done;
}

export function statusOfFd(fd) {
  return fd === NULL_FD ? NULL_STATUS : binding.fstat(fd);
}

/** Whether what has this status can be written: 0, or a negative errno. */
export function mayWrite(path, status) {
  return status === NULL_STATUS ? 0 : changes.mayWrite(absolute(path), status);
}

export function statusOf(path, follow) {
  const whole = absolute(path);
  if (whole.startsWith('/dev/') || whole.startsWith('/proc/')) {
    const fd = standard(whole);
    if (fd !== undefined) return binding.fstat(fd);
    if (whole === NULL_PATH) return NULL_STATUS;
  }
  return binding.stat(whole, follow);
}
