// What an object is called under inspection: its constructor, or what the engine knows it by.

import { formatProperty, formatValue } from './inspect.js';
import { PROPERTY } from './layout.js';
import { classOf } from './types.js';

const { getOwnPropertyDescriptor, getPrototypeOf } = Object;

// Prototypes of the language itself are not listed among what an object inherits.
const BUILT_IN = new Set(Object.getOwnPropertyNames(globalThis).filter((name) => /^[A-Z][a-zA-Z0-9]+$/.test(name)));

export function isInstance(value, constructor) {
  try {
    return value instanceof constructor;
  } catch {
    return false;
  }
}

export function constructorName(ctx, value, depth, inherited) {
  let firstPrototype;
  for (let object = value; object;) {
    const descriptor = getOwnPropertyDescriptor(object, 'constructor');
    if (descriptor !== undefined && typeof descriptor.value === 'function' && descriptor.value.name !== '' && isInstance(value, descriptor.value)) {
      if (inherited !== undefined && (firstPrototype !== object || !BUILT_IN.has(descriptor.value.name))) {
        addInherited(ctx, value, firstPrototype || value, depth, inherited);
      }
      return String(descriptor.value.name);
    }
    object = getPrototypeOf(object);
    if (firstPrototype === undefined) firstPrototype = object;
  }
  if (firstPrototype === null) return null;
  const name = engineName(value);
  if (depth > ctx.depth && ctx.depth !== null) return `${name} <Complex prototype>`;
  const above = constructorName(ctx, firstPrototype, depth + 1, inherited);
  if (above !== null) return `${name} <${above}>`;
  const shown = { ...ctx, customInspect: false, depth: -1, seen: [], indentation: 0, circular: undefined };
  return `${name} <${formatValue(shown, firstPrototype, 0)}>`;
}

/** The name by brand, for objects whose prototype says nothing. */
function engineName(value) {
  if (typeof value === 'function') return 'Function';
  const name = classOf(value);
  return name === 'Arguments' || name === undefined ? 'Object' : name;
}

function addInherited(ctx, value, object, depth, output) {
  const seen = new Set();
  let keys = [];
  for (let layer = 0; layer < 3; layer++) {
    if (layer !== 0 || value === object) {
      object = getPrototypeOf(object);
      if (object === null) return;
      const descriptor = getOwnPropertyDescriptor(object, 'constructor');
      if (typeof descriptor?.value === 'function' && BUILT_IN.has(descriptor.value.name)) return;
    }
    for (const key of keys) seen.add(key);
    keys = Reflect.ownKeys(object);
    ctx.seen.push(value);
    for (const key of keys) {
      if (key === 'constructor' || Object.hasOwn(value, key) || seen.has(key)) continue;
      const descriptor = getOwnPropertyDescriptor(object, key);
      if (typeof descriptor.value === 'function') continue;
      const text = formatProperty(ctx, object, depth, key, PROPERTY, descriptor, value);
      output.push(ctx.colors ? `\u001b[2m${text}\u001b[22m` : text);
    }
    ctx.seen.pop();
  }
}

/** `Name `, with its size, and with the tag where that says more than the name. */
export function prefix(constructor, tag, fallback, size = '') {
  if (constructor === null) {
    if (tag !== '' && fallback !== tag) return `[${fallback}${size}: null prototype] [${tag}] `;
    return `[${fallback}${size}: null prototype] `;
  }
  if (tag !== '') {
    const end = constructor.indexOf(tag) + tag.length;
    const startsWord = constructor.includes(tag) && (end === constructor.length || constructor[end] !== constructor[end].toLowerCase());
    if (!startsWord) return `${constructor}${size} [${tag}] `;
  }
  return `${constructor}${size} `;
}

export function styleOf(value, constructor, tag) {
  let fallback = '';
  if (constructor === null) {
    fallback = engineName(value);
    if (fallback === tag) fallback = 'Object';
  }
  return prefix(constructor, tag, fallback);
}
