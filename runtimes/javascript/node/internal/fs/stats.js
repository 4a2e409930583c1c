// `Stats` and `Dirent`.

import { USER } from '../process.js';
import { constants } from './constants.js';
import { statusOf } from './descriptors.js';

const { S_IFBLK, S_IFCHR, S_IFDIR, S_IFIFO, S_IFLNK, S_IFMT, S_IFREG, S_IFSOCK } = constants;
const { UV_DIRENT_BLOCK, UV_DIRENT_CHAR, UV_DIRENT_DIR, UV_DIRENT_FIFO, UV_DIRENT_FILE, UV_DIRENT_LINK, UV_DIRENT_SOCKET, UV_DIRENT_UNKNOWN } = constants;
const BLOCK = 4096;

// WASI has no permissions: files have those that an ordinary umask gives.
const PERMISSIONS = { [S_IFDIR]: 0o755, [S_IFLNK]: 0o777, [S_IFCHR]: 0o666 };

class StatsBase {
  isDirectory() {
    return (Number(this.mode) & S_IFMT) === S_IFDIR;
  }

  isFile() {
    return (Number(this.mode) & S_IFMT) === S_IFREG;
  }

  isBlockDevice() {
    return (Number(this.mode) & S_IFMT) === S_IFBLK;
  }

  isCharacterDevice() {
    return (Number(this.mode) & S_IFMT) === S_IFCHR;
  }

  isSymbolicLink() {
    return (Number(this.mode) & S_IFMT) === S_IFLNK;
  }

  isFIFO() {
    return (Number(this.mode) & S_IFMT) === S_IFIFO;
  }

  isSocket() {
    return (Number(this.mode) & S_IFMT) === S_IFSOCK;
  }
}

function fields(stats, status, convert) {
  const type = status[0];
  const size = status[4];
  stats.dev = convert(status[1]);
  stats.mode = convert(type | (PERMISSIONS[type] ?? 0o644));
  stats.nlink = convert(status[3]);
  stats.uid = convert(USER);
  stats.gid = convert(USER);
  stats.rdev = convert(0);
  stats.blksize = convert(BLOCK);
  stats.ino = convert(status[2]);
  stats.size = convert(size);
  stats.blocks = convert(Math.ceil(Number(size) / BLOCK) * (BLOCK / 512));
}

export class Stats extends StatsBase {
  constructor(status) {
    super();
    fields(this, status, Number);
    this.atimeMs = status[5] * 1e3 + status[6] / 1e6;
    this.mtimeMs = status[7] * 1e3 + status[8] / 1e6;
    this.ctimeMs = status[9] * 1e3 + status[10] / 1e6;
    // WASI does not keep when a file was made; no file is older than its last change.
    this.birthtimeMs = Math.min(this.ctimeMs || this.mtimeMs, this.mtimeMs);
  }
}

export class BigIntStats extends StatsBase {
  constructor(status) {
    super();
    fields(this, status, BigInt);
    const nanoseconds = (seconds, rest) => BigInt(seconds) * 1000000000n + BigInt(rest);
    const times = [nanoseconds(status[5], status[6]), nanoseconds(status[7], status[8]), nanoseconds(status[9], status[10])];
    times.push((times[2] || times[1]) < times[1] ? times[2] || times[1] : times[1]);
    const names = ['atime', 'mtime', 'ctime', 'birthtime'];
    names.forEach((name, i) => { this[`${name}Ms`] = times[i] / 1000000n; });
    names.forEach((name, i) => { this[`${name}Ns`] = times[i]; });
  }
}

// Dates are made when somebody looks.
for (const Class of [Stats, BigIntStats]) {
  for (const name of ['atime', 'mtime', 'ctime', 'birthtime']) {
    Object.defineProperty(Class.prototype, name, {
      get() {
        const value = new Date(Math.round(Number(this[`${name}Ms`])));
        this[name] = value;
        return value;
      },
      set(value) {
        Object.defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true });
      },
      enumerable: true,
      configurable: true,
    });
  }
}

export const makeStats = (status, bigint) => (bigint ? new BigIntStats(status) : new Stats(status));

const kType = Symbol('type');

export class Dirent {
  constructor(name, parentPath, type) {
    this.name = name;
    this.parentPath = parentPath;
    this[kType] = type;
  }

  isDirectory() {
    return this[kType] === UV_DIRENT_DIR;
  }

  isFile() {
    return this[kType] === UV_DIRENT_FILE;
  }

  isBlockDevice() {
    return this[kType] === UV_DIRENT_BLOCK;
  }

  isCharacterDevice() {
    return this[kType] === UV_DIRENT_CHAR;
  }

  isSymbolicLink() {
    return this[kType] === UV_DIRENT_LINK;
  }

  isFIFO() {
    return this[kType] === UV_DIRENT_FIFO;
  }

  isSocket() {
    return this[kType] === UV_DIRENT_SOCKET;
  }
}

const TYPES = { [S_IFREG]: UV_DIRENT_FILE, [S_IFDIR]: UV_DIRENT_DIR, [S_IFLNK]: UV_DIRENT_LINK, [S_IFCHR]: UV_DIRENT_CHAR, [S_IFBLK]: UV_DIRENT_BLOCK, [S_IFIFO]: UV_DIRENT_FIFO, [S_IFSOCK]: UV_DIRENT_SOCKET };

/** The type of a directory's entry, also where the directory does not tell. */
export function entryType(type, path) {
  if (type !== UV_DIRENT_UNKNOWN) return type;
  const status = statusOf(path, false);
  return typeof status === 'number' ? UV_DIRENT_UNKNOWN : TYPES[status[0]] ?? UV_DIRENT_UNKNOWN;
}
