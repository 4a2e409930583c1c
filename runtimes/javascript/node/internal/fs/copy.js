// `fs.cp`: files, links and directories with all that is in them.

import { binding } from '../binding.js';
import { absolute } from '../cwd.js';
import { EEXIST, EINVAL, EISDIR, ENOTDIR, uvException } from '../uv.js';
import { invalidArgType, nodeError } from '../errors.js';
import { validateBoolean, validateFunction, validateObject } from '../validators.js';
import { toPath } from './arguments.js';
import * as changes from './changes.js';
import { constants } from './constants.js';
import { copyFile } from './content.js';
import { statusOf } from './descriptors.js';
import { entriesOf, removeTree, trees } from './trees.js';
import posix from '../../modules/path.js';

const { dirname, isAbsolute, join, resolve } = posix;
const { S_IFDIR, S_IFLNK, S_IFREG } = constants;

const DEFAULTS = { dereference: false, errorOnExist: false, filter: undefined, force: true, preserveTimestamps: false, recursive: false, verbatimSymlinks: false };

function systemError(code, text, name, message, path, errno) {
  const error = nodeError(Error, name, `${text}: cp returned ${code} (${message}) ${path}`);
  return Object.assign(error, { info: { message, path, syscall: 'cp', errno: -errno, code }, errno: -errno, syscall: 'cp', path });
}

function optionsOf(options) {
  if (options === undefined || options === null) return DEFAULTS;
  validateObject(options, 'options');
  const wanted = { ...DEFAULTS, ...options };
  for (const name of ['dereference', 'errorOnExist', 'force', 'preserveTimestamps', 'recursive', 'verbatimSymlinks']) validateBoolean(wanted[name], `options.${name}`);
  if (wanted.filter !== undefined) validateFunction(wanted.filter, 'options.filter');
  return wanted;
}

const isThere = (status) => typeof status !== 'number';

function checkPaths(from, to, options) {
  const source = statusOf(from, options.dereference);
  if (!isThere(source)) throw uvException(source, options.dereference ? 'stat' : 'lstat', from);
  const target = statusOf(to, options.dereference);
  if (isThere(target)) {
    if (source[1] === target[1] && source[2] === target[2] && absolute(from) === absolute(to)) {
      throw systemError('EINVAL', 'Invalid src or dest', 'ERR_FS_CP_EINVAL', 'src and dest cannot be the same', to, EINVAL);
    }
    if (source[0] === S_IFDIR && target[0] !== S_IFDIR) {
      throw systemError('EISDIR', 'Cannot overwrite non-directory with directory', 'ERR_FS_CP_DIR_TO_NON_DIR', `cannot overwrite non-directory ${to} with directory ${from}`, to, EISDIR);
    }
    if (source[0] !== S_IFDIR && target[0] === S_IFDIR) {
      throw systemError('ENOTDIR', 'Cannot overwrite directory with non-directory', 'ERR_FS_CP_NON_DIR_TO_DIR', `cannot overwrite directory ${to} with non-directory ${from}`, to, ENOTDIR);
    }
  }
  if (source[0] === S_IFDIR && `${resolve(to)}/`.startsWith(`${resolve(from)}/`)) {
    throw systemError('EINVAL', 'Invalid src or dest', 'ERR_FS_CP_EINVAL', `cannot copy ${from} to a subdirectory of self ${to}`, to, EINVAL);
  }
  return { source, target };
}

function keepTimes(status, to) {
  const seconds = (whole, nano) => whole + nano / 1e9;
  changes.utimes(absolute(to), seconds(status[5], status[6]), seconds(status[7], status[8]), true);
}

function exists(to) {
  return systemError('EEXIST', 'Target already exists', 'ERR_FS_CP_EEXIST', `${to} already exists`, to, EEXIST);
}

function one(from, to, options) {
  if (options.filter && !options.filter(from, to)) return;
  const { source, target } = checkPaths(from, to, options);
  if (source[0] === S_IFDIR) directory(from, to, target, options);
  else if (source[0] === S_IFLNK) link(from, to, target, options);
  else if (source[0] === S_IFREG) file(from, to, source, target, options);
  else throw systemError('EINVAL', 'Cannot copy a special file', 'ERR_FS_CP_UNKNOWN', `cannot copy an unknown file type: ${to}`, to, EINVAL);
}

function file(from, to, source, target, options) {
  if (isThere(target)) {
    if (!options.force) {
      if (options.errorOnExist) throw exists(to);
      return;
    }
    const result = changes.unlink(absolute(to));
    if (result < 0) throw uvException(result, 'unlink', to);
  }
  copyFile(from, to, false);
  if (options.preserveTimestamps) keepTimes(source, to);
}

function link(from, to, target, options) {
  let pointee = binding.readlink(absolute(from));
  if (typeof pointee === 'number') throw uvException(pointee, 'readlink', from);
  if (!options.verbatimSymlinks && !isAbsolute(pointee)) pointee = resolve(dirname(from), pointee);
  if (isThere(target)) removeTree(to);
  const result = changes.symlink(pointee, absolute(to));
  if (result < 0) throw uvException(result, 'symlink', pointee, to);
}

function directory(from, to, target, options) {
  if (!options.recursive) {
    throw systemError('EISDIR', 'Recursive option not enabled, cannot copy a directory', 'ERR_FS_EISDIR', `${from} is a directory (not copied)`, from, EISDIR);
  }
  if (!isThere(target)) trees.mkdir(to, { recursive: true })();
  for (const { name } of entriesOf(from)) one(join(from, name), join(to, name), options);
}

export const copying = {
  cp(from, to, options) {
    const wanted = optionsOf(options);
    from = toPath(from, 'src');
    to = toPath(to, 'dest');
    return () => {
      if (wanted.filter && !accepted(wanted.filter(from, to))) return;
      checkPaths(from, to, wanted);
      const parent = dirname(resolve(to));
      if (!isThere(statusOf(parent, true))) trees.mkdir(parent, { recursive: true })();
      one(from, to, { ...wanted, filter: wanted.filter && ((a, b) => accepted(wanted.filter(a, b))) });
    };
  },
};

function accepted(answer) {
  if (answer !== null && typeof answer === 'object' && typeof answer.then === 'function') {
    throw invalidArgType('options.filter', 'a function that does not return a promise', answer);
  }
  return answer;
}
