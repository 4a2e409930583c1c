// `fs.opendir`: the entries of a directory, one at a time.

import { nodeError } from '../errors.js';
import { defer, promised } from '../task.js';
import { toCallback, toOptions, toPath } from './arguments.js';
import { Dirent, entryType } from './stats.js';
import { entriesOf } from './trees.js';
import posix from '../../modules/path.js';

const { join } = posix;

export class Dir {
  #path;
  #entries;
  #next = 0;
  #isClosed = false;
  #later;

  constructor(path, entries, recursive) {
    this.#path = path;
    this.#entries = entries.map((entry) => ({ ...entry, parent: path }));
    this.#later = recursive;
  }

  get path() {
    return this.#path;
  }

  #check() {
    if (this.#isClosed) throw nodeError(Error, 'ERR_DIR_CLOSED', 'Directory handle was closed');
  }

  readSync() {
    this.#check();
    const entry = this.#entries[this.#next++];
    if (!entry) return null;
    const whole = join(entry.parent, entry.name);
    const dirent = new Dirent(entry.name, entry.parent, entryType(entry.type, whole));
    if (this.#later && dirent.isDirectory()) {
      for (const each of entriesOf(whole)) this.#entries.push({ ...each, parent: whole });
    }
    return dirent;
  }

  read(callback) {
    if (callback === undefined) return promised(() => this.readSync());
    defer(() => this.readSync(), toCallback(callback));
    return undefined;
  }

  closeSync() {
    this.#check();
    this.#isClosed = true;
  }

  close(callback) {
    if (callback === undefined) return promised(() => this.closeSync());
    defer(() => this.closeSync(), toCallback(callback));
    return undefined;
  }

  async* entries() {
    try {
      for (let entry = await this.read(); entry !== null; entry = await this.read()) yield entry;
    } finally {
      if (!this.#isClosed) this.closeSync();
    }
  }

  [Symbol.dispose]() {
    if (!this.#isClosed) this.closeSync();
  }

  async [Symbol.asyncDispose]() {
    if (!this.#isClosed) await this.close();
  }
}
Object.defineProperty(Dir.prototype, Symbol.asyncIterator, { value: Dir.prototype.entries, writable: true, enumerable: false, configurable: true });

export const opening = {
  opendir(path, options) {
    path = toPath(path);
    const { recursive = false } = toOptions(options);
    return () => new Dir(path, entriesOf(path, 'opendir'), recursive);
  },
};
