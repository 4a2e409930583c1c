// util.inspect: any value as text, in Node's format.

import { binding } from '../../internal/binding.js';
import { useInspect } from '../../internal/errors.js';
import { validateObject } from '../../internal/validators.js';
import { describeKind } from './inspect_kinds.js';
import { colors, styles } from './inspect_styles.js';
import { arrange, ELEMENT, EXTRA, PROPERTY } from './layout.js';
import { escapeControls, quote, width } from './text.js';

export const customInspect = Symbol.for('nodejs.util.inspect.custom');

const defaults = Object.seal({
  showHidden: false,
  depth: 2,
  colors: false,
  customInspect: true,
  showProxy: false,
  maxArrayLength: 100,
  maxStringLength: 10000,
  breakLength: 80,
  compact: 3,
  sorted: false,
  getters: false,
  numericSeparator: false,
});

const OPTION_NAMES = new Set(Object.keys(defaults));
// Past this much text at one level, what follows is cut short rather than shown.
const BUDGET = 2 ** 27;
// Deeper values are cut short, about where Node's stack ends: each level costs more than the one before.
const DEEPEST = 900;
// Strings up to this length are never broken into lines.
const SHORT_STRING = 16;

export const plain = (text) => text;

function coloured(text, style) {
  const name = styles[style];
  const codes = name === undefined ? undefined : colors[name];
  return codes === undefined ? text : `\u001b[${codes[0]}m${text}\u001b[${codes[1]}m`;
}

export function inspect(value, options, depth, withColors) {
  const ctx = { budget: {}, indentation: 0, seen: [], currentDepth: 0, circular: undefined, stylize: plain, userOptions: undefined, ...defaults };
  if (depth !== undefined) ctx.depth = depth;
  if (withColors !== undefined) ctx.colors = withColors;
  if (typeof options === 'boolean') {
    ctx.showHidden = options;
  } else if (options) {
    for (const key of Object.keys(options)) {
      if (OPTION_NAMES.has(key) || key === 'stylize') ctx[key] = options[key];
      else ctx.userOptions ??= options;
    }
  }
  if (ctx.colors) ctx.stylize = coloured;
  if (ctx.maxArrayLength === null) ctx.maxArrayLength = Infinity;
  if (ctx.maxStringLength === null) ctx.maxStringLength = Infinity;
  return formatValue(ctx, value, 0);
}

/** The options as a custom inspection function gets them. */
function optionsFor(ctx, foreign) {
  const options = { stylize: ctx.stylize };
  for (const name of OPTION_NAMES) options[name] = ctx[name];
  Object.assign(options, ctx.userOptions);
  if (foreign) {
    Object.setPrototypeOf(options, null);
    for (const key of Object.keys(options)) {
      if ((typeof options[key] === 'object' && options[key] !== null) || typeof options[key] === 'function') delete options[key];
    }
    options.stylize = Object.setPrototypeOf((text, style) => `${ctx.stylize(text, style)}`, null);
  }
  return options;
}

export function formatValue(ctx, value, depth, insideTypedArray = false) {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return formatPrimitive(ctx, value);
  const context = value;
  let proxy = binding.proxyDetails(value);
  const isProxy = proxy !== undefined;
  if (isProxy && ctx.showProxy && proxy[0] !== null) return formatProxy(ctx, proxy, depth);
  // No handler of a proxy may run: what is shown is the target.
  while (proxy !== undefined) {
    if (proxy[0] === null) return ctx.stylize('<Revoked Proxy>', 'special');
    value = proxy[0];
    proxy = binding.proxyDetails(value);
  }
  if (ctx.customInspect) {
    const custom = value[customInspect];
    if (typeof custom === 'function' && custom !== inspect && Object.getOwnPropertyDescriptor(value, 'constructor')?.value?.prototype !== value) {
      const left = ctx.depth === null ? null : ctx.depth - depth;
      const result = custom.call(context, left, optionsFor(ctx, isProxy || !(context instanceof Object)), inspect);
      if (result !== context) {
        if (typeof result !== 'string') return formatValue(ctx, result, depth);
        return result.replaceAll('\n', `\n${' '.repeat(ctx.indentation)}`);
      }
    }
  }
  if (ctx.seen.includes(value)) {
    ctx.circular ??= new Map();
    let index = ctx.circular.get(value);
    if (index === undefined) ctx.circular.set(value, (index = ctx.circular.size + 1));
    return ctx.stylize(`[Circular *${index}]`, 'special');
  }
  return formatObject(ctx, value, depth, insideTypedArray);
}

function formatProxy(ctx, [target, handler], depth) {
  if (depth > ctx.depth && ctx.depth !== null) return ctx.stylize('Proxy [Array]', 'special');
  ctx.indentation += 2;
  const parts = [formatValue(ctx, target, depth + 1), formatValue(ctx, handler, depth + 1)];
  ctx.indentation -= 2;
  return arrange(ctx, parts, '', ['Proxy [', ']'], EXTRA, depth + 1);
}

function formatObject(ctx, value, depth, insideTypedArray) {
  const kind = describeKind(ctx, value, depth, insideTypedArray);
  if (typeof kind === 'string') return kind;
  let { base } = kind;
  const { braces, keys, role } = kind;
  if (depth > ctx.depth && ctx.depth !== null) {
    const name = kind.style.slice(0, -1);
    return ctx.stylize(kind.constructor === null ? name : `[${name}]`, 'special');
  }
  if (ctx.seen.length >= DEEPEST) return interrupted(ctx, kind);
  depth++;
  ctx.seen.push(value);
  ctx.currentDepth = depth;
  const { indentation } = ctx;
  let parts;
  try {
    parts = kind.format ? kind.format(ctx, value, depth, kind) : [];
    for (const key of kind.extraKeys) parts.push(formatExtra(ctx, value, depth, key, kind.typedArray));
    for (const key of keys) parts.push(formatProperty(ctx, value, depth, key, role));
    if (kind.inherited) parts.push(...kind.inherited);
  } catch (error) {
    if (!isStackOverflow(error)) throw error;
    ctx.seen.pop();
    ctx.indentation = indentation;
    return interrupted(ctx, kind);
  }
  const reference = ctx.circular?.get(value);
  if (reference !== undefined) {
    const mark = ctx.stylize(`<ref *${reference}>`, 'special');
    if (ctx.compact !== true) base = base === '' ? mark : `${mark} ${base}`;
    else braces[0] = `${mark} ${braces[0]}`;
  }
  ctx.seen.pop();
  if (ctx.sorted) sortParts(parts, keys.length, role, ctx.sorted === true ? undefined : ctx.sorted);
  const text = arrange(ctx, parts, base, braces, role, depth, value);
  const spent = (ctx.budget[ctx.indentation] ?? 0) + text.length;
  ctx.budget[ctx.indentation] = spent;
  if (spent > BUDGET) ctx.depth = -1;
  return text;
}

function interrupted(ctx, kind) {
  return ctx.stylize(`[${kind.style.slice(0, -1)}: Inspection interrupted prematurely. Maximum call stack size exceeded.]`, 'special');
}

function isStackOverflow(error) {
  return error instanceof RangeError && /call stack|stack overflow/i.test(error.message);
}

function sortParts(parts, keyCount, role, compare) {
  if (role === PROPERTY) parts.sort(compare);
  else if (keyCount > 1) parts.push(...parts.splice(parts.length - keyCount, keyCount).sort(compare));
}

/** Properties that live in the engine, such as a buffer's `byteLength`. */
function formatExtra(ctx, value, depth, key, insideTypedArray) {
  ctx.indentation += 2;
  const text = formatValue(ctx, value[key], depth, insideTypedArray);
  ctx.indentation -= 2;
  return `${ctx.stylize(`[${key}]`, 'string')}: ${text}`;
}

const IDENTIFIER = /^[a-zA-Z_][a-zA-Z_0-9]*$/;

export function formatProperty(ctx, value, depth, key, role, descriptor = Object.getOwnPropertyDescriptor(value, key), receiver = value) {
  let text;
  let space = ' ';
  descriptor ??= { value: value[key], enumerable: true };
  if (descriptor.value !== undefined) {
    const step = ctx.compact !== true || role !== PROPERTY ? 2 : 3;
    ctx.indentation += step;
    text = formatValue(ctx, descriptor.value, depth);
    if (step === 3 && ctx.breakLength < width(text, ctx.colors)) space = `\n${' '.repeat(ctx.indentation)}`;
    ctx.indentation -= step;
  } else if (descriptor.get !== undefined) {
    text = formatGetter(ctx, descriptor, depth, receiver);
  } else if (descriptor.set !== undefined) {
    text = ctx.stylize('[Setter]', 'special');
  } else {
    text = ctx.stylize('undefined', 'undefined');
  }
  if (role === ELEMENT) return text;
  let name;
  if (typeof key === 'symbol') name = ctx.stylize(escapeControls(key.toString()), 'symbol');
  else if (key === '__proto__') name = "['__proto__']";
  else if (IDENTIFIER.test(key)) name = ctx.stylize(key, 'name');
  else name = ctx.stylize(quote(key), 'string');
  if (descriptor.enumerable === false) name = `[${name}]`;
  return `${name}:${space}${text}`;
}

function formatGetter(ctx, { get, set }, depth, receiver) {
  const label = set !== undefined ? 'Getter/Setter' : 'Getter';
  const special = (text) => ctx.stylize(text, 'special');
  const wanted = ctx.getters === true || (ctx.getters === 'get' && set === undefined) || (ctx.getters === 'set' && set !== undefined);
  if (!wanted) return special(`[${label}]`);
  ctx.indentation += 2;
  let text;
  try {
    const result = get.call(receiver);
    if (typeof result === 'object' && result !== null) text = `${special(`[${label}]`)} ${formatValue(ctx, result, depth)}`;
    else text = `${special(`[${label}:`)} ${formatValue(ctx, result, depth)}${special(']')}`;
  } catch (error) {
    text = `${special(`[${label}:`)} <Inspection threw (${formatValue(ctx, error, depth)})>${special(']')}`;
  }
  ctx.indentation -= 2;
  return text;
}

export function formatPrimitive(ctx, value, stylize = ctx.stylize) {
  switch (typeof value) {
    case 'string':
      return formatString(ctx, value, stylize);
    case 'number':
      return stylize(numberText(value, ctx.numericSeparator), 'number');
    case 'bigint':
      return stylize(bigintText(value, ctx.numericSeparator), 'bigint');
    case 'boolean':
      return stylize(`${value}`, 'boolean');
    case 'undefined':
      return stylize('undefined', 'undefined');
    case 'symbol':
      return stylize(value.toString(), 'symbol');
    default:
      return stylize('null', 'null');
  }
}

function formatString(ctx, value, stylize) {
  let trailer = '';
  if (value.length > ctx.maxStringLength) {
    const rest = value.length - ctx.maxStringLength;
    value = value.slice(0, ctx.maxStringLength);
    trailer = `... ${rest} more character${rest > 1 ? 's' : ''}`;
  }
  if (ctx.compact !== true && value.length > SHORT_STRING && value.length > ctx.breakLength - ctx.indentation - 4) {
    const lines = value.split(/(?<=\n)/).map((line) => stylize(quote(line), 'string'));
    return lines.join(` +\n${' '.repeat(ctx.indentation + 2)}`) + trailer;
  }
  return stylize(quote(value), 'string') + trailer;
}

export function numberText(number, separated) {
  if (Object.is(number, -0)) return '-0';
  const text = `${number}`;
  if (!separated || !Number.isFinite(number) || text.includes('e')) return text;
  const [whole, fraction] = text.split('.');
  return fraction === undefined ? group(whole) : `${group(whole)}.${fraction.replace(/(\d{3})(?=\d)/g, '$1_')}`;
}

export function bigintText(value, separated) {
  return separated ? `${group(`${value}`)}n` : `${value}n`;
}

function group(digits) {
  return digits.replace(/(?<=\d)(?=(\d{3})+$)/g, '_');
}

inspect.custom = customInspect;
Object.defineProperty(inspect, 'defaultOptions', {
  get() {
    return defaults;
  },
  set(options) {
    validateObject(options, 'options');
    Object.assign(defaults, options);
  },
});
inspect.colors = colors;
inspect.styles = styles;
useInspect(inspect);
