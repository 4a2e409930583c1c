// The module `fs`.

import { constants } from '../internal/fs/constants.js';
import { all, synchronous, withCallback } from '../internal/fs/calls.js';
import { notSupported, toCallback, toPath } from '../internal/fs/arguments.js';
import { statusOf } from '../internal/fs/descriptors.js';
import { Dir } from '../internal/fs/dir.js';
import { find } from '../internal/fs/glob.js';
import { Dirent, Stats } from '../internal/fs/stats.js';
import { ReadStream, WriteStream } from '../internal/fs/streams.js';
import { defer } from '../internal/task.js';
import promises from './fs/promises.js';
import { Blob } from '../globals/blob.js';
import util from './util.js';

const fs = {};
for (const name of Object.keys(all)) {
  fs[name] = withCallback(name);
  fs[`${name}Sync`] = synchronous(name);
}

fs.existsSync = function existsSync(path) {
  try {
    return typeof statusOf(toPath(path), true) !== 'number';
  } catch {
    return false;
  }
};
fs.exists = function exists(path, callback) {
  toCallback(callback);
  defer(() => fs.existsSync(path), (error, value) => callback(value));
};
Object.defineProperty(fs.exists, util.promisify.custom, { value: async (path) => fs.existsSync(path) });
// The promises of these have two values each.
for (const [name, value, buffer] of [['read', 'bytesRead', 'buffer'], ['write', 'bytesWritten', 'buffer'], ['readv', 'bytesRead', 'buffers'], ['writev', 'bytesWritten', 'buffers']]) {
  Object.defineProperty(fs[name], util.promisify.custom, {
    value: (...args) => new Promise((resolve, reject) => {
      fs[name](...args, (error, count, given) => (error ? reject(error) : resolve({ [value]: count, [buffer]: given })));
    }),
  });
}

fs.realpath.native = fs.realpath;
fs.realpathSync.native = fs.realpathSync;

fs.globSync = (patterns, options) => find(patterns, options)();
fs.glob = function glob(patterns, options, callback) {
  if (typeof options === 'function') [options, callback] = [undefined, options];
  defer(find(patterns, options), toCallback(callback));
};

fs.mkdtempDisposableSync = function mkdtempDisposableSync(prefix, options) {
  const path = fs.mkdtempSync(prefix, options);
  const remove = () => fs.rmSync(path, { recursive: true, force: true });
  return { path, remove, [Symbol.dispose]: remove };
};

fs.openAsBlob = async function openAsBlob(path, options = {}) {
  return new Blob([fs.readFileSync(path)], options);
};

for (const name of ['watch', 'watchFile', 'unwatchFile']) {
  fs[name] = { [name]() { throw notSupported(`fs.${name}`); } }[name];
}
fs.unwatchFile = function unwatchFile() {};

fs.createReadStream = (path, options) => new ReadStream(path, options);
fs.createWriteStream = (path, options) => new WriteStream(path, options);

Object.assign(fs, { ReadStream, WriteStream, FileReadStream: ReadStream, FileWriteStream: WriteStream, Stats, Dirent, Dir, constants, promises });
for (const name of ['F_OK', 'R_OK', 'W_OK', 'X_OK']) {
  Object.defineProperty(fs, name, { value: constants[name], enumerable: true, configurable: true, writable: true });
}
fs._toUnixTimestamp = (time) => (time instanceof Date ? time.getTime() / 1000 : Number(time));

export default fs;
