// The current directory: WASI has none, so the layer keeps it, and every path that reaches the engine is absolute.

import { binding } from './binding.js';
import { atStart } from './start.js';
import { realPath } from './realpath.js';
import posix from '../modules/path.js';

// Now: a script may change the module.
const { dirname, normalize } = posix;
let cwd = '/';
let granted = null;
atStart(() => { granted = null; });

export const getCwd = () => cwd;

/** The host answers for the first one. */
export function beginIn(directory) {
  cwd = directory;
}

// No path at all is the name of nothing; this is what the engine is told.
const NOWHERE = '/\u{10ffff}/nowhere';
const DIRECTORY = 0o040000;

/** `path` as the engine takes it: absolute, and without `..`, since each granted directory is a root of its own. */
export function absolute(path) {
  if (path === '') return NOWHERE;
  const whole = path[0] === '/' ? path : `${cwd}/${path}`;
  if (/\/\.\.(\/|$)/.test(whole)) return withoutParents(whole);
  return whole.includes('/.') || whole.includes('//') ? normalize(whole) : whole;
}

/** As the kernel takes `..`: what comes before it has to be a directory, and a link is followed first. */
function withoutParents(path) {
  const parts = path.split('/');
  let done = '';
  for (let i = 0; i < parts.length; i++) {
    if (parts[i] === '' || parts[i] === '.') continue;
    if (parts[i] !== '..') {
      done += `/${parts[i]}`;
      continue;
    }
    const status = binding.stat(done || '/', true);
    if (typeof status !== 'number' && status[0] !== DIRECTORY) return `${done}/.`;
    if (typeof status === 'number' && isGranted(done)) return NOWHERE;
    if (typeof binding.readlink(done || '/') === 'string') done = realPath(done);
    done = dirname(done || '/');
    if (done === '/') done = '';
  }
  return `${done}${path.endsWith('/') ? '/' : ''}` || '/';
}

/** Whether a path is inside of a granted directory. What is above them all cannot be looked at, and is there. */
export const isGranted = (path) => grantOf(path) !== undefined;

/** The granted directory that a path is inside of, the innermost one. */
export function grantOf(path) {
  granted ??= binding.preopens();
  let found;
  for (let i = 0; i < granted.length; i++) {
    // The host's name for everything outside, where nothing is granted.
    if (granted[i] === '/') continue;
    const root = granted[i];
    const inside = path === root || path.startsWith(`${root}/`);
    if (inside && !(root.length < found?.length)) found = root;
  }
  return found;
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
