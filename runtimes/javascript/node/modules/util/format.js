// util.format: printf-like text, the rest of the arguments inspected.

import { binding } from '../../internal/binding.js';
import { validateObject } from '../../internal/validators.js';
import { bigintText, inspect, numberText } from './inspect.js';

const BUILT_IN = new Set(Object.getOwnPropertyNames(globalThis).filter((name) => /^[A-Z][a-zA-Z0-9]+$/.test(name)));

/** Whether `String(value)` would say nothing of the value's own. */
function printsAsBuiltIn(value) {
  for (let proxy = binding.proxyDetails(value); proxy !== undefined; proxy = binding.proxyDetails(value)) {
    if (proxy[0] === null) return true;
    [value] = proxy;
  }
  const hasText = typeof value.toString === 'function';
  const hasPrimitive = typeof value[Symbol.toPrimitive] === 'function';
  if (!hasText && !hasPrimitive) return true;
  const owns = (object) => (hasText && Object.hasOwn(object, 'toString')) || (hasPrimitive && Object.hasOwn(object, Symbol.toPrimitive));
  if (owns(value)) return false;
  let owner = value;
  do owner = Object.getPrototypeOf(owner);
  while (!owns(owner));
  const constructor = Object.getOwnPropertyDescriptor(owner, 'constructor')?.value;
  return typeof constructor === 'function' && BUILT_IN.has(constructor.name);
}

function json(value) {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error.name === 'TypeError' && /circular/i.test(error.message)) return '[Circular]';
    throw error;
  }
}

function asString(value, options) {
  if (typeof value === 'number') return numberText(value, options?.numericSeparator);
  if (typeof value === 'bigint') return bigintText(value, options?.numericSeparator);
  if (typeof value !== 'object' || value === null || !printsAsBuiltIn(value)) return String(value);
  return inspect(value, { ...options, compact: 3, colors: false, depth: 0 });
}

function asNumber(value, convert, options) {
  if (typeof value === 'bigint' && convert !== parseFloat) return bigintText(value, options?.numericSeparator);
  if (typeof value === 'symbol') return 'NaN';
  return numberText(convert(value), options?.numericSeparator);
}

const PLACEHOLDERS = {
  __proto__: null,
  s: asString,
  j: json,
  d: (value, options) => asNumber(value, Number, options),
  i: (value, options) => asNumber(value, parseInt, options),
  f: (value, options) => asNumber(value, parseFloat, options),
  O: (value, options) => inspect(value, options),
  o: (value, options) => inspect(value, { ...options, showHidden: true, showProxy: true, depth: 4 }),
  c: () => '',
};

function formatAll(options, args) {
  const [first] = args;
  let next = 0;
  let text = '';
  let gap = '';
  if (typeof first === 'string') {
    if (args.length === 1) return first;
    let done = 0;
    for (let at = first.indexOf('%'); at !== -1 && at < first.length - 1; at = first.indexOf('%', at)) {
      const letter = first[at + 1];
      const placeholder = PLACEHOLDERS[letter];
      if (letter === '%') {
        text += first.slice(done, at + 1);
        done = at + 2;
      } else if (placeholder && next + 1 < args.length) {
        text += first.slice(done, at) + placeholder(args[++next], options);
        done = at + 2;
      }
      at += 2;
    }
    if (done !== 0) {
      next++;
      gap = ' ';
      text += first.slice(done);
    }
  }
  for (; next < args.length; next++) {
    text += gap + (typeof args[next] === 'string' ? args[next] : inspect(args[next], options));
    gap = ' ';
  }
  return text;
}

export function format(...args) {
  return formatAll(undefined, args);
}

export function formatWithOptions(inspectOptions, ...args) {
  validateObject(inspectOptions, 'inspectOptions', { allowArray: true });
  return formatAll(inspectOptions, args);
}
