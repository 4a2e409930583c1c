// The module `fs/promises`.

import { constants } from '../../internal/fs/constants.js';
import { all, withPromise } from '../../internal/fs/calls.js';
import { isView, notSupported, toFlags, toOptions } from '../../internal/fs/arguments.js';
import { FileHandle, writeAll } from '../../internal/fs/handle.js';
import { find } from '../../internal/fs/glob.js';
import { promised } from '../../internal/task.js';
import { invalidArgType } from '../../internal/errors.js';

const promises = { constants };
// Those that take a descriptor are methods of FileHandle.
for (const name of [
  'access', 'appendFile', 'chmod', 'chown', 'copyFile', 'cp', 'lchmod', 'lchown', 'link', 'lstat', 'lutimes', 'mkdir', 'mkdtemp', 'opendir', 'readdir',
  'readFile', 'readlink', 'realpath', 'rename', 'rm', 'rmdir', 'stat', 'statfs', 'symlink', 'truncate', 'unlink', 'utimes', 'writeFile',
]) promises[name] = withPromise(name);

promises.open = async function open(path, flags, mode) {
  return new FileHandle(await promised(all.open(path, flags, mode)));
};

const { readFile, writeFile } = promises;
promises.readFile = async function readFileOf(path, options) {
  if (typeof path === 'number') throw invalidArgType('path', ['string', 'Buffer', 'URL', 'FileHandle'], path);
  return path instanceof FileHandle ? path.readFile(options) : readFile(path, options);
};
promises.writeFile = async function writeFileOf(path, data, options) {
  if (path instanceof FileHandle) return path.writeFile(data, options);
  if (typeof data === 'string' || isView(data)) return writeFile(path, data, options);
  if (!data?.[Symbol.iterator] && !data?.[Symbol.asyncIterator]) {
    throw invalidArgType('data', ['string', 'Buffer', 'TypedArray', 'DataView', 'AsyncIterable', 'Iterable', 'Stream'], data);
  }
  const wanted = toOptions(options, { encoding: 'utf8', flag: 'w' });
  toFlags(wanted.flag);
  const handle = await promises.open(path, wanted.flag);
  try {
    return await writeAll(handle, data, wanted);
  } finally {
    await handle.close();
  }
};
promises.appendFile = async function appendFile(path, data, options) {
  return promises.writeFile(path, data, toOptions(options, { flag: 'a' }));
};
for (const name of ['readFile', 'writeFile']) Object.defineProperty(promises[name], 'name', { value: name });

promises.mkdtempDisposable = async function mkdtempDisposable(prefix, options) {
  const path = await promises.mkdtemp(prefix, options);
  const remove = () => promises.rm(path, { recursive: true, force: true });
  return { path, remove, [Symbol.asyncDispose]: remove };
};

promises.glob = async function* glob(patterns, options) {
  yield* await promised(find(patterns, options));
};

promises.watch = function watch() {
  throw notSupported('fs.promises.watch');
};

export default promises;
