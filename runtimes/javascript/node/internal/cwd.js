// The current directory: WASI has none, so the layer keeps it, and every path that reaches the engine is absolute.

import { binding } from './binding.js';
import posix from '../modules/path.js';

// Now: a script may change the module.
const { normalize } = posix;
let cwd = '/';

export const getCwd = () => cwd;

/** The host answers for the first one. */
export function beginIn(directory) {
  cwd = directory;
}

/** `path` as the engine takes it. Links and `..` meet in Node as they do in the kernel; here `..` goes first,
 * because each granted directory is a root of its own. */
export function absolute(path) {
  const whole = path[0] === '/' ? path : `${cwd}/${path}`;
  return whole.includes('/.') || whole.includes('//') ? normalize(whole) : whole;
}

/** Changes to `path`; a negative errno if that fails. */
export function changeTo(path) {
  let target = absolute(path);
  const status = binding.stat(target, true);
  if (typeof status === 'number') return status;
  if (status[0] !== 0o040000) return -20;
  if (target.length > 1 && target.endsWith('/')) target = target.slice(0, -1);
  cwd = target;
  return 0;
}
