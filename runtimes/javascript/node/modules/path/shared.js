// What the two flavours of `path` have in common.

import { minimatch } from 'minimatch';
import { validateObject, validateString } from '../../internal/validators.js';

/** Drops empty and `.` segments and resolves `..`; above the root `..` is kept only where `keepAbove` says so. */
export function collapse(segments, keepAbove) {
  const kept = [];
  for (const segment of segments) {
    if (segment === '' || segment === '.') continue;
    if (segment !== '..') kept.push(segment);
    else if (kept.length > 0 && kept[kept.length - 1] !== '..') kept.pop();
    else if (keepAbove) kept.push('..');
  }
  return kept;
}

/** The end of the file name without `suffix`, unless the suffix is all of it. */
export function withoutSuffix(base, suffix) {
  return suffix !== undefined && suffix !== base && base.endsWith(suffix) ? base.slice(0, base.length - suffix.length) : base;
}

/** `.txt` of `a.txt`; nothing for `.bashrc`, `..` and names without a dot. */
export function extension(base) {
  const dot = base.lastIndexOf('.');
  if (dot <= 0 || base === '..') return '';
  return base.slice(dot);
}

export function formatWith(separator, pathObject) {
  validateObject(pathObject, 'pathObject');
  const dir = pathObject.dir || pathObject.root;
  const ext = pathObject.ext ? `${pathObject.ext[0] === '.' ? '' : '.'}${pathObject.ext}` : '';
  const base = pathObject.base || `${pathObject.name || ''}${ext}`;
  if (!dir) return base;
  return dir === pathObject.root ? `${dir}${base}` : `${dir}${separator}${base}`;
}

export function matchGlob(path, pattern, platform) {
  validateString(path, 'path');
  validateString(pattern, 'pattern');
  return minimatch(path, pattern, {
    nocase: false,
    windowsPathsNoEscape: true,
    nonegate: true,
    nocomment: true,
    optimizationLevel: 2,
    platform,
    nocaseMagicOnly: true,
  });
}
