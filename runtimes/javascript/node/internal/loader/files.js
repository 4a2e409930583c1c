// What the loader asks the file system, with short memories: a run resolves the same directories over and over.

import { binding } from '../binding.js';
import { absolute } from '../cwd.js';
import { realPath } from '../realpath.js';
import { uvException } from '../uv.js';

const { apply } = Reflect;
const { get, set } = Map.prototype;

const REGULAR = 0o100000;
const DIRECTORY = 0o040000;

function typeOf(path) {
  const status = binding.stat(absolute(path), true);
  return typeof status === 'number' ? 0 : status[0];
}

export const isFile = (path) => typeOf(path) === REGULAR;
export const isDirectory = (path) => typeOf(path) === DIRECTORY;

/** All bytes of a file; throws as `fs` would. */
export function readBytes(path) {
  const fd = binding.open(absolute(path), 0);
  if (fd < 0) throw uvException(fd, 'open', path);
  const status = binding.fstat(fd);
  let bytes = new Uint8Array((typeof status === 'number' ? 0 : Number(status[4])) + 1);
  let length = 0;
  for (;;) {
    const count = binding.read(fd, bytes, length, bytes.length - length, -1);
    if (count < 0) {
      binding.close(fd);
      throw uvException(count, 'read', path);
    }
    if (count === 0) break;
    length += count;
    if (length === bytes.length) {
      const larger = new Uint8Array(bytes.length * 2);
      larger.set(bytes);
      bytes = larger;
    }
  }
  binding.close(fd);
  return bytes.subarray(0, length);
}

/** Bytes as text: UTF-8, without a byte order mark. */
export function decode(bytes) {
  const start = bytes.length >= 3 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  return binding.utf8Decode(bytes, start, bytes.length);
}

const directories = new Map();

/** The path without links, of a file that exists. */
export function realFile(path) {
  const slash = path.lastIndexOf('/');
  const directory = path.slice(0, slash) || '/';
  let real = apply(get, directories, [directory]);
  if (real === undefined) {
    real = realPath(absolute(directory));
    apply(set, directories, [directory, real]);
  }
  const whole = `${real === '/' ? '' : real}${path.slice(slash)}`;
  return typeof binding.readlink(whole) === 'string' ? realPath(whole) : whole;
}
