// Paths without symbolic links.

import { binding } from './binding.js';
import { ELOOP, uvException } from './uv.js';
import posix from '../modules/path.js';

const { dirname, resolve } = posix;
const LINKS_MAX = 40;

/** Resolves links in an absolute path, component by component; what does not exist stays as it is. */
export function realPath(path) {
  let rest = path.split('/').filter((part) => part !== '' && part !== '.');
  let done = '';
  let links = 0;
  for (let i = 0; i < rest.length; i++) {
    if (rest[i] === '..') {
      done = dirname(done || '/');
      if (done === '/') done = '';
      continue;
    }
    const next = `${done}/${rest[i]}`;
    const target = binding.readlink(next);
    if (typeof target === 'number') {
      done = next;
      continue;
    }
    if (++links > LINKS_MAX) throw uvException(ELOOP, 'realpath', path);
    const whole = resolve(done || '/', target);
    rest = whole.split('/').filter((part) => part !== '').concat(rest.slice(i + 1));
    done = '';
    i = -1;
  }
  return done || '/';
}
