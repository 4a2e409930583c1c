// `process.env`: every value a string, whatever is assigned. Read from the host when first looked at.

import { binding } from './binding.js';
import { atStart } from './start.js';
import { nodeError } from './errors.js';

const variables = {};
let isLoaded = false;
atStart(() => { isLoaded = false; });

const { defineProperty, deleteProperty, get, getOwnPropertyDescriptor, has, ownKeys } = Reflect;
const plain = (value) => ({ value, writable: true, enumerable: true, configurable: true });

function load() {
  if (isLoaded) return;
  isLoaded = true;
  const list = binding.environment();
  for (let i = 0; i < list.length; i += 2) defineProperty(variables, list[i], plain(list[i + 1]));
}

function toText(value) {
  if (typeof value === 'symbol') throw new TypeError('Cannot convert a Symbol value to a string');
  return `${value}`;
}

function assign(target, key, descriptor) {
  // Local time follows at once.
  if (key === 'TZ') binding.setZone(descriptor.value);
  return defineProperty(target, key, descriptor);
}

const handler = {
  get(target, key) {
    load();
    return get(target, key);
  },
  set(target, key, value) {
    load();
    if (typeof key === 'symbol') throw new TypeError('Cannot convert a Symbol value to a string');
    return assign(target, key, plain(toText(value)));
  },
  has(target, key) {
    load();
    return has(target, key);
  },
  deleteProperty(target, key) {
    load();
    deleteProperty(target, key);
    if (key === 'TZ') binding.setZone(undefined);
    return true;
  },
  ownKeys(target) {
    load();
    return ownKeys(target);
  },
  getOwnPropertyDescriptor(target, key) {
    load();
    return getOwnPropertyDescriptor(target, key);
  },
  defineProperty(target, key, descriptor) {
    load();
    if ('get' in descriptor || 'set' in descriptor) {
      throw nodeError(TypeError, 'ERR_INVALID_OBJECT_DEFINE_PROPERTY', "'process.env' does not accept an accessor(getter/setter) descriptor");
    }
    if (!descriptor.configurable || !descriptor.writable || !descriptor.enumerable) {
      throw nodeError(TypeError, 'ERR_INVALID_OBJECT_DEFINE_PROPERTY', "'process.env' only accepts a configurable, writable, and enumerable data descriptor");
    }
    return assign(target, key, plain(toText(descriptor.value)));
  },
};

export const env = new Proxy(variables, handler);
