// Calls that change something, with the answers that Linux gives. The host refuses with EPERM before it has looked what is
// there; what is there the script may see anyway, so the layer looks and says what a read-only mount would.

import { binding } from '../binding.js';
import { constants } from './constants.js';
import { EACCES, EBUSY, EEXIST, EINVAL, EISDIR, ENAMETOOLONG, ENOTDIR, EPERM, EROFS, EXDEV } from '../uv.js';
import posix from '../../modules/path.js';

// Now: a script may change the module.
const { dirname } = posix;
const { O_CREAT, O_EXCL, O_RDWR, O_WRONLY, S_IFDIR } = constants;

const isThere = (status) => typeof status !== 'number';
const isDirectory = (status) => isThere(status) && status[0] === S_IFDIR;

/** 0 if the directory can be changed; EPERM, as the host says it, if not. */
const isReadOnly = (path) => binding.writable(path, true) === EPERM;

/** Why the directory around `path` is none to change something in. */
function aboveFailure(path) {
  const above = binding.stat(dirname(path), true);
  if (!isThere(above)) return above;
  return isDirectory(above) ? 0 : ENOTDIR;
}

/** A granted directory is like a mount: it is there, and above it there is nothing to see. */
const isGranted = (path) => isDirectory(binding.stat(path, false)) && aboveFailure(path) < 0;

/** The answer to a call on an entry that may or may not be there. */
function onEntry(errno, path) {
  if (errno !== EPERM) return errno;
  if (isGranted(path)) return isReadOnly(path) ? EROFS : EPERM;
  if (binding.stat(path, false) === ENAMETOOLONG) return ENAMETOOLONG;
  return aboveFailure(path) || (isReadOnly(dirname(path)) ? EROFS : EPERM);
}

/** … on one that must not be there yet. */
function onNew(errno, path) {
  return errno === EPERM && isThere(binding.stat(path, false)) ? EEXIST : onEntry(errno, path);
}

/** … on one that must. */
function onOld(errno, path) {
  if (errno !== EPERM) return errno;
  const status = binding.stat(path, true);
  return isThere(status) ? onEntry(errno, path) : status;
}

function onBoth(errno, from, to) {
  if (errno !== EPERM && errno !== EXDEV) return errno;
  if (isGranted(from) || isGranted(to)) return EBUSY;
  const failure = aboveFailure(from) || aboveFailure(to);
  if (failure || errno === EXDEV) return failure || errno;
  return onEntry(errno, from) === EROFS ? EROFS : onEntry(errno, to);
}

export const mkdir = (path) => onNew(binding.mkdir(path), path);
export const symlink = (target, path) => onNew(binding.symlink(target, path), path);
export const unlink = (path) => onEntry(binding.unlink(path), path);
export const rename = (from, to) => onBoth(binding.rename(from, to), from, to);
export const utimes = (path, atime, mtime, follow) => onOld(binding.utimes(path, atime, mtime, follow), path);

export function rmdir(path) {
  const errno = binding.rmdir(path);
  return (errno === EINVAL || errno === EPERM) && isGranted(path) ? EBUSY : onEntry(errno, path);
}

export function link(from, to) {
  const errno = binding.link(from, to);
  if (errno !== EPERM && errno !== EXDEV) return errno;
  const old = binding.stat(from, false);
  return isThere(old) ? onBoth(errno, from, to) : old;
}

export function open(path, flags) {
  const fd = binding.open(path, flags);
  if (fd !== EPERM || (flags & (O_WRONLY | O_RDWR | O_CREAT)) === 0) return fd;
  if ((flags & O_CREAT) !== 0 && (flags & O_EXCL) !== 0) return onNew(fd, path);
  if (isDirectory(binding.stat(path, true))) return EISDIR;
  return (flags & O_CREAT) !== 0 ? onEntry(fd, path) : onOld(fd, path);
}

/** Whether what is at `path`, with this status, can be written. */
export function mayWrite(path, status) {
  const errno = binding.writable(path, isDirectory(status));
  if (errno === EPERM) return onEntry(errno, path);
  // Whatever else hinders opening it now is no answer to the question.
  return errno === EACCES ? errno : 0;
}
