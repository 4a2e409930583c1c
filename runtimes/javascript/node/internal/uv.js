// Errors of the system, as libuv names them and Node words them.

const ERRORS = {
  1: ['EPERM', 'operation not permitted'], 2: ['ENOENT', 'no such file or directory'], 3: ['ESRCH', 'no such process'],
  4: ['EINTR', 'interrupted system call'], 5: ['EIO', 'i/o error'], 6: ['ENXIO', 'no such device or address'],
  7: ['E2BIG', 'argument list too long'], 9: ['EBADF', 'bad file descriptor'], 11: ['EAGAIN', 'resource temporarily unavailable'],
  12: ['ENOMEM', 'not enough memory'], 13: ['EACCES', 'permission denied'], 16: ['EBUSY', 'resource busy or locked'],
  17: ['EEXIST', 'file already exists'], 18: ['EXDEV', 'cross-device link not permitted'], 19: ['ENODEV', 'no such device'],
  20: ['ENOTDIR', 'not a directory'], 21: ['EISDIR', 'illegal operation on a directory'], 22: ['EINVAL', 'invalid argument'],
  23: ['ENFILE', 'file table overflow'], 24: ['EMFILE', 'too many open files'], 25: ['ENOTTY', 'inappropriate ioctl for device'],
  26: ['ETXTBSY', 'text file is busy'], 27: ['EFBIG', 'file too large'], 28: ['ENOSPC', 'no space left on device'],
  29: ['ESPIPE', 'invalid seek'], 30: ['EROFS', 'read-only file system'], 31: ['EMLINK', 'too many links'], 32: ['EPIPE', 'broken pipe'],
  34: ['ERANGE', 'result too large'], 36: ['ENAMETOOLONG', 'name too long'], 38: ['ENOSYS', 'function not implemented'],
  39: ['ENOTEMPTY', 'directory not empty'], 40: ['ELOOP', 'too many symbolic links encountered'],
  75: ['EOVERFLOW', 'value too large for defined data type'], 84: ['EILSEQ', 'illegal byte sequence'],
  95: ['ENOTSUP', 'operation not supported on socket'], 122: ['EDQUOT', 'disk quota exceeded'],
};

/** `errno` is negative, as the engine and Node have it. */
export function errnoName(errno) {
  return ERRORS[-errno] ?? ['UNKNOWN', 'unknown error'];
}

export const EPERM = -1;
export const ENOENT = -2;
export const EIO = -5;
export const EBADF = -9;
export const EACCES = -13;
export const EBUSY = -16;
export const EEXIST = -17;
export const EXDEV = -18;
export const ENOTDIR = -20;
export const EISDIR = -21;
export const EINVAL = -22;
export const EROFS = -30;
export const EPIPE = -32;
export const ENAMETOOLONG = -36;
export const ENOTEMPTY = -39;
export const ELOOP = -40;

/** The error of a system call that answered `errno`. */
export function uvException(errno, syscall, path, dest) {
  const [code, text] = errnoName(errno);
  let message = `${code}: ${text}, ${syscall}`;
  if (path !== undefined) message += ` '${path}'`;
  if (dest !== undefined) message += ` -> '${dest}'`;
  const error = new Error(message);
  error.errno = errno;
  error.code = code;
  error.syscall = syscall;
  if (path !== undefined) error.path = path;
  if (dest !== undefined) error.dest = dest;
  return error;
}
