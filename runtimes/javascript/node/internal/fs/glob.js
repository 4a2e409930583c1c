// `fs.glob`: minimatch over what the directories hold.

import { Minimatch } from 'minimatch';
import { getCwd } from '../cwd.js';
import { invalidArgType } from '../errors.js';
import { validateFunction, validateObject, validateStringArray } from '../validators.js';
import { toPath } from './arguments.js';
import { constants } from './constants.js';
import { Dirent, entryType } from './stats.js';
import { statusOf } from './descriptors.js';
import { entriesOf } from './trees.js';
import posix from '../../modules/path.js';

const { isAbsolute, join, resolve } = posix;
const { S_IFDIR, UV_DIRENT_DIR, UV_DIRENT_FILE } = constants;
const OPTIONS = { nocase: false, nonegate: true, nocomment: true, optimizationLevel: 2, platform: 'linux', windowsPathsNoEscape: false };

function matchers(patterns) {
  const list = Array.isArray(patterns) ? patterns : [patterns];
  if (Array.isArray(patterns)) validateStringArray(patterns, 'patterns');
  else if (typeof patterns !== 'string') throw invalidArgType('patterns', ['string', 'string[]'], patterns);
  return list.map((pattern) => new Minimatch(pattern, OPTIONS));
}

/** Calls `visit(path, type)` for each entry below `root` that some pattern may reach. */
function walk(root, path, patterns, visit) {
  let entries;
  try {
    entries = entriesOf(join(root, path));
  } catch {
    return;
  }
  for (const { name, type: given } of entries) {
    const below = path === '' ? name : `${path}/${name}`;
    const type = entryType(given, join(root, below));
    const skip = visit(below, name, type);
    if (type === UV_DIRENT_DIR && !skip && patterns.some((pattern) => pattern.match(below, true))) walk(root, below, patterns, visit);
  }
}

export function find(patterns, options) {
  const wanted = matchers(patterns);
  options ??= {};
  validateObject(options, 'options');
  const { withFileTypes = false, exclude } = options;
  const root = options.cwd === undefined ? getCwd() : resolve(toPath(options.cwd, 'options.cwd'));
  const excluded = Array.isArray(exclude) ? matchers(exclude) : [];
  if (exclude !== undefined && !Array.isArray(exclude)) validateFunction(exclude, 'options.exclude');
  return () => {
    const found = new Map();
    const add = (path, name, parent, type) => {
      if (!found.has(path)) found.set(path, withFileTypes ? new Dirent(name, parent, type) : path);
    };
    for (const pattern of wanted) {
      const isRooted = isAbsolute(pattern.pattern);
      const start = isRooted ? '/' : root;
      const shown = (below) => (isRooted ? `/${below}` : below);
      const literal = !pattern.hasMagic() && pattern.set.length === 1;
      if (literal) {
        const path = posix.normalize(pattern.pattern);
        const status = statusOf(resolve(root, path), true);
        if (typeof status !== 'number') {
          const whole = resolve(root, path);
          add(path, posix.basename(whole), posix.dirname(whole), status[0] === S_IFDIR ? UV_DIRENT_DIR : UV_DIRENT_FILE);
        }
        continue;
      }
      const prefix = isRooted ? new Minimatch(pattern.pattern.slice(1), OPTIONS) : pattern;
      if (prefix.match('.') || /^\*\*(\/\*\*)*\/?$/.test(pattern.pattern)) add('.', posix.basename(root), posix.dirname(root), UV_DIRENT_DIR);
      // `dir/**` is the directory itself as well.
      const base = /^([^*?[\]{}()!+@]+)\/\*\*\/?$/.exec(pattern.pattern)?.[1];
      if (base !== undefined && statusOf(resolve(root, base), true)[0] === S_IFDIR) {
        add(base, posix.basename(base), posix.dirname(resolve(root, base)), UV_DIRENT_DIR);
      }
      walk(start, '', [prefix], (below, name, type) => {
        const path = shown(below);
        const parent = join(start, below, '..');
        const isExcluded = excluded.some((each) => each.match(path))
          || (typeof exclude === 'function' && exclude(withFileTypes ? new Dirent(name, parent, type) : name));
        if (!isExcluded && prefix.match(below)) add(path, name, parent, type);
        return isExcluded;
      });
    }
    return [...found.values()];
  };
}

