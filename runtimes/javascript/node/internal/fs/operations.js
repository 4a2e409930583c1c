// Each call of `fs`, once: a function here checks the arguments and answers what does the work. The synchronous call does
// it at once, the others when the event loop polls.

import { binding } from '../binding.js';
import { absolute } from '../cwd.js';
import { realPath } from '../realpath.js';
import { EACCES, EEXIST, ENOENT, ENOTDIR, uvException } from '../uv.js';
import { invalidArgType, invalidArgValue, nodeError, outOfRange } from '../errors.js';
import { validateArray, validateInteger, validateObject } from '../validators.js';
import { checkEncoding, encoded, isView, toBytes, toFd, toFlags, toMode, toOptions, toPath, toPosition, toSeconds } from './arguments.js';
import * as changes from './changes.js';
import { constants } from './constants.js';
import * as files from './descriptors.js';
import { makeStats } from './stats.js';
import { Buffer } from '../../modules/buffer.js';

const { F_OK, R_OK, W_OK, X_OK, O_RDWR } = constants;

/** The answer of a system call, if it is none of an error. */
function checked(result, syscall, path, dest) {
  if (result < 0) throw uvException(result, syscall, path, dest);
  return undefined;
}

const onPath = (syscall, call) => (path) => {
  path = toPath(path);
  return () => checked(call(absolute(path)), syscall, path);
};

const onPaths = (syscall, call) => (from, to) => {
  from = toPath(from, syscall === 'rename' ? 'oldPath' : 'existingPath');
  to = toPath(to, 'newPath');
  return () => checked(call(absolute(from), absolute(to)), syscall, from, to);
};

const onFd = (syscall, call) => (fd) => {
  toFd(fd);
  return () => checked(call(fd), syscall);
};

function statOptions(options, name = 'options') {
  if (options === undefined || options === null) return {};
  validateObject(options, name);
  return options;
}

const onStatus = (syscall, follow) => (path, options) => {
  path = toPath(path);
  const { bigint = false, throwIfNoEntry = true } = statOptions(options);
  return () => {
    const status = files.statusOf(path, follow);
    if (typeof status !== 'number') return makeStats(status, bigint);
    if (!throwIfNoEntry && (status === ENOENT || status === ENOTDIR)) return undefined;
    throw uvException(status, syscall, path);
  };
};

function owner(id, name) {
  validateInteger(id, name, -1, 4294967295);
}

/** Owners and permissions do not exist here: that the file does is all there is to check. */
function existing(path, syscall, follow = true) {
  const status = files.statusOf(path, follow);
  if (typeof status === 'number') throw uvException(status, syscall, path);
}

function openFd(fd, syscall) {
  const status = files.statusOfFd(fd);
  if (typeof status === 'number') throw uvException(status, syscall);
}

/** (buffer, offset, length, position), or the last three as an object; what reading and writing share. */
function transferOf(buffer, offset, length, position) {
  if (!isView(buffer)) throw invalidArgType('buffer', ['Buffer', 'TypedArray', 'DataView'], buffer);
  if (offset !== null && typeof offset === 'object') ({ offset, length, position } = offset);
  offset ??= 0;
  validateInteger(offset, 'offset', 0);
  length ??= buffer.byteLength - offset;
  return { offset, length, position };
}

function checkRange(offset, length, size) {
  if (offset > size) throw outOfRange('offset', `<= ${size}`, offset);
  if (length > size - offset) throw outOfRange('length', `<= ${size - offset}`, length);
  if (length < 0) throw outOfRange('length', '>= 0', length);
}

function vectorOf(buffers, position) {
  validateArray(buffers, 'buffers');
  if (!buffers.every(isView)) throw invalidArgType('buffers', 'ArrayBufferView[]', buffers);
  return typeof position === 'number' ? position : -1;
}

function mkdtempName(prefix) {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
  const bytes = new Uint8Array(6);
  binding.random(bytes);
  let name = prefix;
  for (let i = 0; i < bytes.length; i++) name += letters[bytes[i] % letters.length];
  return name;
}

class StatFs {}

export const operations = {
  access(path, mode = F_OK) {
    path = toPath(path);
    if (typeof mode === 'number' && (mode < 0 || mode > 7)) throw nodeError(RangeError, 'ERR_OUT_OF_RANGE', 'mode is out of range: >= 0 && <= 7');
    validateInteger(mode, 'mode', 0, R_OK | W_OK | X_OK);
    return () => {
      const status = files.statusOf(path, true);
      if (typeof status === 'number') throw uvException(status, 'access', path);
      // Only directories can be entered; no file is a program here, as none has that permission.
      if ((mode & X_OK) !== 0 && status[0] !== constants.S_IFDIR) throw uvException(EACCES, 'access', path);
      if ((mode & W_OK) !== 0) checked(files.mayWrite(path, status), 'access', path);
    };
  },

  open(path, flags = 'r', mode) {
    path = toPath(path);
    const bits = toFlags(flags);
    toMode(mode, 'mode', 0o666);
    return () => files.openOrThrow(path, bits);
  },

  close: onFd('close', files.close),
  fsync: onFd('fsync', (fd) => binding.sync(fd)),
  fdatasync: onFd('fdatasync', (fd) => binding.sync(fd)),

  read(fd, buffer, offsetOrOptions, length, position) {
    toFd(fd);
    // fs.read(fd, { buffer, offset, length, position })
    if (!isView(buffer) && buffer !== null && typeof buffer === 'object') {
      offsetOrOptions = buffer;
      buffer = buffer.buffer ?? Buffer.alloc(16384);
    }
    const t = transferOf(buffer ?? Buffer.alloc(16384), offsetOrOptions, length, position);
    const place = toPosition(t.position);
    validateInteger(t.length, 'length', 0);
    if (buffer.byteLength === 0 && t.length > 0) {
      throw invalidArgValue('buffer', buffer, 'is empty and cannot be written');
    }
    checkRange(t.offset, t.length, buffer.byteLength);
    return () => {
      if (t.length === 0) return 0;
      const count = files.read(fd, buffer, t.offset, t.length, place);
      if (count < 0) throw uvException(count, 'read');
      return count;
    };
  },

  write(fd, data, offsetOrOptions, length, position) {
    toFd(fd);
    let bytes;
    let place;
    let offset = 0;
    if (isView(data)) {
      const t = transferOf(data, offsetOrOptions, length, position);
      validateInteger(t.length, 'length', 0);
      checkRange(t.offset, t.length, data.byteLength);
      ({ offset, length } = t);
      bytes = data;
      place = typeof t.position === 'number' || typeof t.position === 'bigint' ? toPosition(t.position) : -1;
    } else {
      // fs.write(fd, string, position, encoding)
      checkEncoding(length);
      bytes = toBytes(data, length, 'buffer');
      place = typeof offsetOrOptions === 'number' ? offsetOrOptions : -1;
      length = bytes.length;
    }
    return () => {
      const count = files.write(fd, bytes, offset, length, place);
      if (count < 0) throw uvException(count, 'write');
      return count;
    };
  },

  readv(fd, buffers, position) {
    toFd(fd);
    let place = vectorOf(buffers, position);
    return () => {
      let total = 0;
      for (const buffer of buffers) {
        const count = files.read(fd, buffer, 0, buffer.byteLength, place);
        if (count < 0) throw uvException(count, 'read');
        total += count;
        if (place >= 0) place += count;
        if (count < buffer.byteLength) break;
      }
      return total;
    };
  },

  writev(fd, buffers, position) {
    toFd(fd);
    let place = vectorOf(buffers, position);
    return () => {
      let total = 0;
      for (const buffer of buffers) {
        const count = files.write(fd, buffer, 0, buffer.byteLength, place);
        if (count < 0) throw uvException(count, 'write');
        total += count;
        if (place >= 0) place += count;
      }
      return total;
    };
  },

  stat: onStatus('stat', true),
  lstat: onStatus('lstat', false),

  fstat(fd, options) {
    toFd(fd);
    const { bigint = false } = statOptions(options);
    return () => {
      const status = files.statusOfFd(fd);
      if (typeof status === 'number') throw uvException(status, 'fstat');
      return makeStats(status, bigint);
    };
  },

  rmdir(path, options) {
    path = toPath(path);
    if (options?.recursive !== undefined) throw invalidArgValue('options.recursive', options.recursive, 'is no longer supported');
    return () => checked(changes.rmdir(absolute(path)), 'rmdir', path);
  },
  unlink: onPath('unlink', changes.unlink),
  rename: onPaths('rename', changes.rename),
  link: onPaths('link', changes.link),

  symlink(target, path, type) {
    target = toPath(target, 'target');
    path = toPath(path);
    if (type !== undefined && type !== null && !['dir', 'file', 'junction'].includes(type)) {
      throw invalidArgValue('type', type, "must be one of: 'dir', 'file', 'junction', null, undefined");
    }
    return () => checked(changes.symlink(target, absolute(path)), 'symlink', target, path);
  },

  readlink(path, options) {
    path = toPath(path, 'oldPath');
    const { encoding } = toOptions(options);
    return () => {
      const target = binding.readlink(absolute(path));
      if (typeof target === 'number') throw uvException(target, 'readlink', path);
      return encoded(target, encoding);
    };
  },

  realpath(path, options) {
    // The one call that takes no path at all for the current directory.
    path = toPath(path) || '.';
    const { encoding } = toOptions(options);
    return () => {
      const status = files.statusOf(path, true);
      if (typeof status === 'number') throw uvException(status, 'lstat', absolute(path));
      return encoded(realPath(absolute(path)), encoding);
    };
  },

  truncate(path, length) {
    if (typeof path === 'number') return operations.ftruncate(path, length);
    path = toPath(path);
    length ??= 0;
    validateInteger(length, 'len');
    return () => {
      const fd = files.openOrThrow(path, O_RDWR);
      const result = binding.truncate(fd, Math.max(0, length));
      files.close(fd);
      checked(result, 'ftruncate');
    };
  },

  ftruncate(fd, length) {
    toFd(fd);
    length ??= 0;
    validateInteger(length, 'len');
    return () => checked(binding.truncate(fd, Math.max(0, length)), 'ftruncate');
  },

  utimes(path, atime, mtime) {
    path = toPath(path);
    const times = [toSeconds(atime), toSeconds(mtime)];
    return () => checked(changes.utimes(absolute(path), times[0], times[1], true), 'utime', path);
  },

  lutimes(path, atime, mtime) {
    path = toPath(path);
    const times = [toSeconds(atime), toSeconds(mtime)];
    return () => checked(changes.utimes(absolute(path), times[0], times[1], false), 'lutime', path);
  },

  futimes(fd, atime, mtime) {
    toFd(fd);
    const times = [toSeconds(atime), toSeconds(mtime)];
    return () => checked(binding.futimes(fd, times[0], times[1]), 'futime');
  },

  chmod(path, mode) {
    path = toPath(path);
    toMode(mode, 'mode');
    return () => existing(path, 'chmod');
  },

  fchmod(fd, mode) {
    toFd(fd);
    toMode(mode, 'mode');
    return () => openFd(fd, 'fchmod');
  },

  lchmod(path, mode) {
    path = toPath(path);
    toMode(mode, 'mode');
    return () => existing(path, 'lchmod', false);
  },

  chown(path, uid, gid) {
    path = toPath(path);
    owner(uid, 'uid');
    owner(gid, 'gid');
    return () => existing(path, 'chown');
  },

  lchown(path, uid, gid) {
    path = toPath(path);
    owner(uid, 'uid');
    owner(gid, 'gid');
    return () => existing(path, 'lchown', false);
  },

  fchown(fd, uid, gid) {
    toFd(fd);
    owner(uid, 'uid');
    owner(gid, 'gid');
    return () => openFd(fd, 'fchown');
  },

  mkdtemp(prefix, options) {
    const { encoding } = toOptions(options);
    prefix = toPath(prefix, 'prefix');
    return () => {
      for (let attempt = 0; ; attempt++) {
        const path = mkdtempName(prefix);
        const result = changes.mkdir(absolute(path));
        if (result === EEXIST && attempt < 100) continue;
        if (result < 0) throw uvException(result, 'mkdtemp', `${prefix}XXXXXX`);
        return encoded(path, encoding);
      }
    };
  },

  // WASI does not tell how much room there is: zero, as file systems without a size say.
  statfs(path, options) {
    path = toPath(path);
    const { bigint = false } = statOptions(options);
    return () => {
      existing(path, 'statfs');
      const number = bigint ? BigInt : Number;
      return Object.assign(new StatFs(), {
        type: number(0), bsize: number(4096), blocks: number(0), bfree: number(0), bavail: number(0), files: number(0), ffree: number(0),
      });
    };
  },
};
