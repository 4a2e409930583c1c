// `Stats` and `Dirent`.

import { USER } from '../process.js';
import { constants } from './constants.js';
import { statusOf } from './descriptors.js';

const { S_IFBLK, S_IFCHR, S_IFDIR, S_IFIFO, S_IFLNK, S_IFMT, S_IFREG, S_IFSOCK } = constants;
const { UV_DIRENT_BLOCK, UV_DIRENT_CHAR, UV_DIRENT_DIR, UV_DIRENT_FIFO, UV_DIRENT_FILE, UV_DIRENT_LINK, UV_DIRENT_SOCKET, UV_DIRENT_UNKNOWN } = constants;
const BLOCK = 4096;

// WASI has no permissions: files have those that an ordinary umask gives.
const PERMISSIONS = { [S_IFDIR]: 0o755, [S_IFLNK]: 0o777, [S_IFCHR]: 0o666 };

// What can be asked of a file and of an entry of a directory, and the types of which the answer is yes.
const QUESTIONS = {
  isDirectory: [S_IFDIR, UV_DIRENT_DIR],
  isFile: [S_IFREG, UV_DIRENT_FILE],
  isBlockDevice: [S_IFBLK, UV_DIRENT_BLOCK],
  isCharacterDevice: [S_IFCHR, UV_DIRENT_CHAR],
  isSymbolicLink: [S_IFLNK, UV_DIRENT_LINK],
  isFIFO: [S_IFIFO, UV_DIRENT_FIFO],
  isSocket: [S_IFSOCK, UV_DIRENT_SOCKET],
};

/** Gives a class the methods that answer them; `matches` compares an instance with both types. */
function answer(Class, matches) {
  for (const [name, types] of Object.entries(QUESTIONS)) {
    const { [name]: value } = { [name]() { return matches(this, ...types); } };
    Object.defineProperty(Class.prototype, name, { value, writable: true, configurable: true });
  }
}

class StatsBase {}
answer(StatsBase, (stats, type) => (Number(stats.mode) & S_IFMT) === type);

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

// Shown by `util.inspect`, therefore with the name it has in Node.
const typeOfEntry = Symbol('type');

export class Dirent {
  constructor(name, parentPath, type) {
    Object.assign(this, { name, parentPath, [typeOfEntry]: type });
  }
}
answer(Dirent, (entry, _type, type) => entry[typeOfEntry] === type);

const TYPES = Object.fromEntries(Object.values(QUESTIONS));

/** The type of a directory's entry, also where the directory does not tell. */
export function entryType(type, path) {
  if (type !== UV_DIRENT_UNKNOWN) return type;
  const status = statusOf(path, false);
  return typeof status === 'number' ? UV_DIRENT_UNKNOWN : TYPES[status[0]] ?? UV_DIRENT_UNKNOWN;
}
