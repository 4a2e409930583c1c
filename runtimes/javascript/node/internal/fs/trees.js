// Directories, alone and with all that is in them.

import { binding } from '../binding.js';
import { absolute } from '../cwd.js';
import { EEXIST, ENOENT, ENOTDIR, ENOTEMPTY, EACCES, EPERM, uvException } from '../uv.js';
import { nodeError } from '../errors.js';
import { validateBoolean, validateObject, validateUint32 } from '../validators.js';
import * as changes from './changes.js';
import { encoded, toMode, toOptions, toPath } from './arguments.js';
import { constants } from './constants.js';
import { statusOf } from './descriptors.js';
import { Dirent, entryType } from './stats.js';
import posix from '../../modules/path.js';

const { dirname, join } = posix;
const { S_IFDIR, UV_DIRENT_DIR } = constants;

/** [{ name, type }] of a directory, in order of names as libuv sorts them. */
export function entriesOf(path, syscall = 'scandir') {
  const found = binding.readdir(absolute(path));
  if (typeof found === 'number') throw uvException(found, syscall, path);
  const pairs = [];
  for (let i = 0; i < found.length; i += 2) pairs[i / 2] = { name: found[i], type: found[i + 1] };
  pairs.sort((a, b) => (a.name < b.name ? -1 : 1));
  return pairs;
}

function isDirectory(path) {
  const status = statusOf(path, true);
  return typeof status !== 'number' && status[0] === S_IFDIR;
}

function makeDirectories(path) {
  const result = changes.mkdir(absolute(path));
  if (result >= 0) return path;
  if (result === ENOENT || result === EACCES || result === EPERM) {
    const parent = dirname(path);
    // Without a parent to make this is as good as it gets; a parent that is there makes the refusal final.
    if (parent === path || isDirectory(parent)) {
      if (isDirectory(path)) return undefined;
      throw uvException(result, 'mkdir', path);
    }
    const first = makeDirectories(parent);
    const again = changes.mkdir(absolute(path));
    if (again < 0 && again !== EEXIST) throw uvException(again, 'mkdir', path);
    return first ?? path;
  }
  if (isDirectory(path)) return undefined;
  if (result === EEXIST) throw uvException(EEXIST, 'mkdir', path);
  throw uvException(result, 'mkdir', path);
}

/** `below` is the path from where the listing began. */
function list(path, below, options, found) {
  for (const entry of entriesOf(path)) {
    const { name } = entry;
    const whole = join(path, name);
    const type = options.withFileTypes || options.recursive ? entryType(entry.type, whole) : 0;
    if (options.withFileTypes) found.push(new Dirent(encoded(name, options.encoding), path, type));
    else found.push(encoded(below === '' ? name : `${below}/${name}`, options.encoding));
    if (options.recursive && type === UV_DIRENT_DIR) options.later.push([whole, below === '' ? name : `${below}/${name}`]);
  }
}

const pause = (milliseconds) => { if (milliseconds > 0) binding.wait(milliseconds, false); };

/** Removes a file or a directory with all that is in it; links are removed and not followed. */
export function removeTree(path) {
  const status = statusOf(path, false);
  if (typeof status === 'number') throw uvException(status, 'rm', path);
  if (status[0] !== S_IFDIR) {
    const result = changes.unlink(absolute(path));
    if (result < 0) throw uvException(result, 'unlink', path);
    return;
  }
  for (const { name } of entriesOf(path)) removeTree(join(path, name));
  const result = changes.rmdir(absolute(path));
  if (result < 0) throw uvException(result, 'rmdir', path);
}

export const trees = {
  mkdir(path, options) {
    let mode = 0o777;
    let recursive = false;
    if (typeof options === 'number' || typeof options === 'string') mode = options;
    else if (options) {
      validateObject(options, 'options');
      ({ recursive = false, mode = 0o777 } = options);
      validateBoolean(recursive, 'options.recursive');
    }
    path = toPath(path);
    toMode(mode, 'mode');
    return () => {
      if (recursive) {
        try {
          return makeDirectories(path.replace(/(?<=.)\/+$/, ''));
        } catch (error) {
          // As Node: the path that was asked for.
          throw uvException(error.errno, 'mkdir', path);
        }
      }
      const result = changes.mkdir(absolute(path).replace(/(?<=.)\/+$/, ''));
      if (result < 0) throw uvException(result, 'mkdir', path);
      return undefined;
    };
  },

  readdir(path, options) {
    const { encoding, recursive = false, withFileTypes = false } = toOptions(options);
    path = toPath(path);
    if (recursive !== undefined) validateBoolean(recursive, 'options.recursive');
    return () => {
      const later = [[path, '']];
      const found = [];
      const wanted = { encoding, recursive, withFileTypes: Boolean(withFileTypes), later };
      for (let i = 0; i < later.length; i++) list(later[i][0], later[i][1], wanted, found);
      return found;
    };
  },

  rm(path, options) {
    path = toPath(path);
    let wanted = { force: false, recursive: false, maxRetries: 0, retryDelay: 100 };
    if (options !== undefined) {
      validateObject(options, 'options');
      wanted = { ...wanted, ...options };
      validateBoolean(wanted.force, 'options.force');
      validateBoolean(wanted.recursive, 'options.recursive');
      validateUint32(wanted.maxRetries, 'options.maxRetries');
      validateUint32(wanted.retryDelay, 'options.retryDelay');
    }
    return () => {
      const status = statusOf(path, false);
      if (typeof status === 'number') {
        if (wanted.force && (status === ENOENT || status === ENOTDIR)) return;
        throw uvException(status, 'lstat', path);
      }
      if (status[0] === S_IFDIR && !wanted.recursive) throw isDirectoryError('rm', path);
      for (let attempt = 0; ; attempt++) {
        try {
          removeTree(path);
          return;
        } catch (error) {
          if (error.code === 'ENOENT' && wanted.force) return;
          if (attempt >= wanted.maxRetries || error.errno !== ENOTEMPTY) throw error;
          pause(wanted.retryDelay * (attempt + 1));
        }
      }
    };
  },
};

function isDirectoryError(syscall, path) {
  const info = { code: 'EISDIR', message: 'is a directory', path, syscall, errno: 21 };
  const error = nodeError(Error, 'ERR_FS_EISDIR', `Path is a directory: ${syscall} returned EISDIR (is a directory) ${path}`);
  error.name = 'SystemError';
  error.stack = error.stack.replace(/^Error/, 'SystemError');
  Object.assign(error, { info, errno: 21, syscall, path });
  return error;
}

