// What kind of object a value is for inspection: its braces, its first words, its keys, and how its contents print.

import { binding } from '../../internal/binding.js';
import { formatError } from './inspect_errors.js';
import { formatPrimitive, formatProperty, formatValue, numberText, bigintText, plain } from './inspect.js';
import { constructorName, isInstance, prefix, styleOf } from './inspect_names.js';
import { arrange, ELEMENT, EXTRA, PROPERTY } from './layout.js';
import { classOf, typedArrayName } from './types.js';

const { getOwnPropertyDescriptor, getPrototypeOf, prototype: ObjectPrototype } = Object;
const hasOwn = (object, key) => ObjectPrototype.hasOwnProperty.call(object, key);
const isEnumerable = (object, key) => ObjectPrototype.propertyIsEnumerable.call(object, key);
const mapSize = getOwnPropertyDescriptor(Map.prototype, 'size').get;
const setSize = getOwnPropertyDescriptor(Set.prototype, 'size').get;
const mapEntries = Map.prototype.entries;
const setValues = Set.prototype.values;
const dateTime = Date.prototype.getTime;
const functionText = Function.prototype.toString;
const regexpText = RegExp.prototype.toString;

const more = (count) => `... ${count} more item${count > 1 ? 's' : ''}`;

/** Either the finished text, or the parts from which `inspect` builds it. */
export function describeKind(ctx, value, depth, insideTypedArray) {
  const inherited = ctx.showHidden && (depth <= ctx.depth || ctx.depth === null) ? [] : undefined;
  const constructor = constructorName(ctx, value, depth, inherited);
  const tag = tagOf(ctx, value);
  const kind = {
    constructor,
    tag,
    base: '',
    braces: ['{', '}'],
    keys: undefined,
    role: PROPERTY,
    format: undefined,
    extraKeys: [],
    typedArray: insideTypedArray,
    inherited: inherited?.length > 0 ? inherited : undefined,
    get style() {
      return styleOf(value, constructor, tag);
    },
  };
  const name = classOf(value);
  const isError = name === 'Object' && isInstance(value, Error);
  const describe =
    typeof value === 'function'
      ? describeFunction
      : isError
        ? describeError
        : (KINDS[name] ?? (typedArrayName(value) ? describeTypedArray : describePlain));
  return describe(ctx, value, kind, depth) ?? kind;
}

function tagOf(ctx, value) {
  let tag;
  try {
    tag = value[Symbol.toStringTag];
  } catch {
    return '';
  }
  if (typeof tag !== 'string') return '';
  // An own tag that is listed among the properties is not shown twice.
  if (tag !== '' && (ctx.showHidden ? hasOwn : isEnumerable)(value, Symbol.toStringTag)) return '';
  return tag;
}

function keysOf(ctx, value) {
  const symbols = Object.getOwnPropertySymbols(value);
  let keys;
  if (ctx.showHidden) {
    keys = Object.getOwnPropertyNames(value);
    keys.push(...symbols);
    return keys;
  }
  try {
    keys = Object.keys(value);
  } catch {
    // A module that is not evaluated yet has keys without values.
    keys = Object.getOwnPropertyNames(value);
  }
  for (const symbol of symbols) if (isEnumerable(value, symbol)) keys.push(symbol);
  return keys;
}

function nonIndexKeys(ctx, value) {
  const keys = binding.ownNonIndex(value);
  return ctx.showHidden ? keys : keys.filter((key) => isEnumerable(value, key));
}

const isBare = (kind) => kind.keys.length === 0 && kind.inherited === undefined;

function describePlain(ctx, value, kind) {
  kind.keys = keysOf(ctx, value);
  if (kind.constructor === 'Object') {
    if (classOf(value) === 'Arguments') kind.braces[0] = '[Arguments] {';
    else if (kind.tag !== '') kind.braces[0] = `${prefix('Object', kind.tag, 'Object')}{`;
    return isBare(kind) ? `${kind.braces[0]}}` : undefined;
  }
  if (isBare(kind)) return `${kind.style}{}`;
  kind.braces[0] = `${kind.style}{`;
}

function describeFunction(ctx, value, kind) {
  kind.keys = keysOf(ctx, value);
  kind.base = functionBase(ctx, value, kind.constructor, kind.tag);
  if (isBare(kind)) return ctx.stylize(kind.base, 'special');
}

function functionBase(ctx, value, constructor, tag) {
  const source = functionText.call(value);
  if (source.startsWith('class') && source.endsWith('}') && /^class(?![\w$(])/.test(source)) return classBase(value, constructor, tag);
  const name = classOf(value);
  let type = 'Function';
  if (name === 'GeneratorFunction' || name === 'AsyncGeneratorFunction') type = `Generator${type}`;
  if (name === 'AsyncFunction' || name === 'AsyncGeneratorFunction') type = `Async${type}`;
  let base = `[${type}`;
  if (constructor === null) base += ' (null prototype)';
  if (value.name === '') base += ' (anonymous)';
  else base += `: ${typeof value.name === 'string' ? value.name : formatValue(ctx, value.name, 0)}`;
  base += ']';
  if (constructor !== type && constructor !== null) base += ` ${constructor}`;
  if (tag !== '' && constructor !== tag) base += ` [${tag}]`;
  return base;
}

function classBase(value, constructor, tag) {
  let base = `class ${(hasOwn(value, 'name') && value.name) || '(anonymous)'}`;
  if (constructor !== 'Function' && constructor !== null) base += ` [${constructor}]`;
  if (tag !== '' && constructor !== tag) base += ` [${tag}]`;
  if (constructor === null) return `[${base} extends [null prototype]]`;
  const parent = getPrototypeOf(value).name;
  return parent ? `[${base} extends ${parent}]` : `[${base}]`;
}

function describeArray(ctx, value, kind) {
  const lead = kind.constructor !== 'Array' || kind.tag !== '' ? prefix(kind.constructor, kind.tag, 'Array', `(${value.length})`) : '';
  kind.keys = nonIndexKeys(ctx, value);
  kind.braces = [`${lead}[`, ']'];
  if (value.length === 0 && isBare(kind)) return `${kind.braces[0]}]`;
  kind.role = EXTRA;
  kind.format = formatArray;
}

function formatArray(ctx, value, depth) {
  const shown = Math.min(Math.max(0, ctx.maxArrayLength), value.length);
  const parts = [];
  for (let index = 0; index < shown; index++) {
    if (!hasOwn(value, index)) return formatSparse(ctx, value, depth, shown, parts, index);
    parts.push(formatProperty(ctx, value, depth, index, ELEMENT));
  }
  if (value.length > shown) parts.push(more(value.length - shown));
  return parts;
}

function formatSparse(ctx, value, depth, shown, parts, start) {
  const holes = (count) => ctx.stylize(`<${count} empty item${count > 1 ? 's' : ''}>`, 'undefined');
  let index = start;
  for (const key of Object.keys(value)) {
    if (parts.length >= shown) break;
    if (!/^(0|[1-9]\d*)$/.test(key) || +key > 2 ** 32 - 2) break;
    if (+key < index) continue;
    if (+key !== index) {
      parts.push(holes(+key - index));
      index = +key;
      if (parts.length === shown) break;
    }
    parts.push(formatProperty(ctx, value, depth, key, ELEMENT));
    index++;
  }
  const rest = value.length - index;
  if (rest > 0) parts.push(parts.length !== shown ? holes(rest) : more(rest));
  return parts;
}

function describeTypedArray(ctx, value, kind) {
  kind.keys = nonIndexKeys(ctx, value);
  const fallback = kind.constructor === null ? typedArrayName(value) : '';
  const size = TypedLength.call(value);
  kind.braces = [`${prefix(kind.constructor, kind.tag, fallback, `(${size})`)}[`, ']'];
  if (size === 0 && kind.keys.length === 0 && !ctx.showHidden) return `${kind.braces[0]}]`;
  kind.role = EXTRA;
  kind.format = formatTypedArray;
  if (ctx.showHidden) {
    kind.extraKeys = ['BYTES_PER_ELEMENT', 'length', 'byteLength', 'byteOffset', 'buffer'];
    kind.typedArray = true;
  }
}

const TypedLength = getOwnPropertyDescriptor(getPrototypeOf(Uint8Array.prototype), 'length').get;

function formatTypedArray(ctx, value) {
  const size = TypedLength.call(value);
  const shown = Math.min(Math.max(0, ctx.maxArrayLength), size);
  const parts = new Array(shown);
  for (let index = 0; index < shown; index++) {
    const element = value[index];
    parts[index] =
      typeof element === 'bigint'
        ? ctx.stylize(bigintText(element, ctx.numericSeparator), 'bigint')
        : ctx.stylize(numberText(element, ctx.numericSeparator), 'number');
  }
  if (size > shown) parts.push(more(size - shown));
  return parts;
}

function describeCollection(size, name, format) {
  return (ctx, value, kind) => {
    const count = size.call(value);
    const lead = prefix(kind.constructor, kind.tag, name, `(${count})`);
    kind.keys = keysOf(ctx, value);
    if (count === 0 && isBare(kind)) return `${lead}{}`;
    kind.braces[0] = `${lead}{`;
    kind.format = format;
  };
}

function formatSet(ctx, value, depth) {
  return formatItems(ctx, setSize.call(value), setValues.call(value), (item) => formatValue(ctx, item, depth));
}

function formatMap(ctx, value, depth) {
  return formatItems(
    ctx,
    mapSize.call(value),
    mapEntries.call(value),
    ([key, item]) => `${formatValue(ctx, key, depth)} => ${formatValue(ctx, item, depth)}`,
  );
}

function formatItems(ctx, count, items, format) {
  const shown = Math.min(Math.max(0, ctx.maxArrayLength), count);
  const parts = [];
  ctx.indentation += 2;
  for (const item of items) {
    if (parts.length >= shown) break;
    parts.push(format(item));
  }
  ctx.indentation -= 2;
  if (count > shown) parts.push(more(count - shown));
  return parts;
}

function describeIterator(name) {
  return (ctx, value, kind) => {
    kind.keys = keysOf(ctx, value);
    const own = `${name} Iterator`;
    const tag = kind.tag === own ? own : kind.tag === '' ? own : `${kind.tag}] [${own}`;
    kind.braces[0] = `[${tag}] {`;
    kind.format = formatIterator;
  };
}

function formatIterator(ctx, value, depth, kind) {
  const [entries, paired] = binding.previewEntries(value);
  if (!paired) return formatItems(ctx, entries.length, entries, (item) => formatValue(ctx, item, depth));
  kind.braces[0] = kind.braces[0].replace(/ Iterator] {$/, ' Entries] {');
  const pairs = [];
  for (let index = 0; index < entries.length; index += 2) pairs.push([entries[index], entries[index + 1]]);
  return formatItems(ctx, pairs.length, pairs, ([key, item]) =>
    arrange(ctx, [formatValue(ctx, key, depth), formatValue(ctx, item, depth)], '', ['[', ']'], EXTRA, depth),
  );
}

function describeRegExp(ctx, value, kind, depth) {
  kind.keys = keysOf(ctx, value);
  const lead = prefix(kind.constructor, kind.tag, 'RegExp');
  kind.base = (lead === 'RegExp ' ? '' : lead) + regexpText.call(kind.constructor === null ? new RegExp(value) : value);
  if (isBare(kind) || (depth > ctx.depth && ctx.depth !== null)) return ctx.stylize(kind.base, 'regexp');
}

function describeDate(ctx, value, kind) {
  kind.keys = keysOf(ctx, value);
  const time = dateTime.call(value);
  const lead = prefix(kind.constructor, kind.tag, 'Date');
  kind.base = (lead === 'Date ' ? '' : lead) + (Number.isNaN(time) ? 'Invalid Date' : new Date(time).toISOString());
  if (isBare(kind)) return ctx.stylize(kind.base, 'date');
}

function describeError(ctx, value, kind) {
  kind.keys = keysOf(ctx, value);
  kind.base = formatError(ctx, value, kind);
  if (isBare(kind)) return kind.base;
}

function describeArrayBuffer(name) {
  return (ctx, value, kind) => {
    kind.keys = keysOf(ctx, value);
    const lead = prefix(kind.constructor, kind.tag, name);
    if (!kind.typedArray) kind.format = formatArrayBuffer;
    else if (isBare(kind)) return `${lead}{ [byteLength]: ${ctx.stylize(`${value.byteLength}`, 'number')} }`;
    kind.braces[0] = `${lead}{`;
    kind.extraKeys = ['byteLength'];
  };
}

function formatArrayBuffer(ctx, value) {
  let bytes;
  try {
    bytes = new Uint8Array(value);
  } catch {
    return [ctx.stylize('(detached)', 'special')];
  }
  if (value.detached) return [ctx.stylize('(detached)', 'special')];
  const shown = Math.min(ctx.maxArrayLength, bytes.length);
  const hex = Array.from(bytes.subarray(0, shown), (byte) => byte.toString(16).padStart(2, '0')).join(' ');
  const rest = bytes.length - ctx.maxArrayLength;
  const tail = rest > 0 ? ` ... ${rest} more byte${rest > 1 ? 's' : ''}` : '';
  return [`${ctx.stylize('[Uint8Contents]', 'special')}: <${hex}${tail}>`];
}

function describeNamed(name, format, extraKeys = []) {
  return (ctx, value, kind) => {
    kind.keys = keysOf(ctx, value);
    kind.braces[0] = `${prefix(kind.constructor, kind.tag, name)}{`;
    kind.format = format;
    kind.extraKeys = extraKeys;
  };
}

function formatPromise(ctx, value, depth) {
  const [state, result] = binding.promiseDetails(value);
  if (state === 0) return [ctx.stylize('<pending>', 'special')];
  ctx.indentation += 2;
  const text = formatValue(ctx, result, depth);
  ctx.indentation -= 2;
  return [state === 2 ? `${ctx.stylize('<rejected>', 'special')} ${text}` : text];
}

const formatUnknownItems = (ctx) => [ctx.stylize('<items unknown>', 'special')];

function describeModule(ctx, value, kind) {
  const names = keysOf(ctx, value);
  kind.keys = [];
  kind.braces[0] = `${prefix(kind.constructor, kind.tag, 'Module')}{`;
  kind.format = (_, module, depth) =>
    names.map((name) => {
      try {
        return formatProperty(ctx, module, depth, name, PROPERTY);
      } catch {
        const text = formatProperty(ctx, { [name]: '' }, depth, name, PROPERTY);
        return text.slice(0, text.lastIndexOf(' ') + 1) + ctx.stylize('<uninitialized>', 'special');
      }
    });
}

function describeBoxed(type) {
  const { valueOf } = globalThis[type].prototype;
  return (ctx, value, kind) => {
    kind.keys = keysOf(ctx, value);
    if (type === 'String') kind.keys.splice(0, value.length);
    const { constructor, tag } = kind;
    let base = `[${type}`;
    if (type !== constructor) base += constructor === null ? ' (null prototype)' : ` (${constructor})`;
    base += `: ${formatPrimitive(ctx, valueOf.call(value), plain)}]`;
    if (tag !== '' && tag !== constructor) base += ` [${tag}]`;
    kind.base = isBare(kind) && ctx.stylize !== plain ? ctx.stylize(base, type.toLowerCase()) : base;
    if (isBare(kind)) return kind.base;
  };
}

const KINDS = {
  __proto__: null,
  Array: describeArray,
  Set: describeCollection(setSize, 'Set', formatSet),
  Map: describeCollection(mapSize, 'Map', formatMap),
  'Map Iterator': describeIterator('Map'),
  'Set Iterator': describeIterator('Set'),
  RegExp: describeRegExp,
  Date: describeDate,
  Error: describeError,
  DOMException: describeError,
  ArrayBuffer: describeArrayBuffer('ArrayBuffer'),
  SharedArrayBuffer: describeArrayBuffer('SharedArrayBuffer'),
  DataView: describeNamed('DataView', undefined, ['byteLength', 'byteOffset', 'buffer']),
  Promise: describeNamed('Promise', formatPromise),
  WeakSet: describeNamed('WeakSet', formatUnknownItems),
  WeakMap: describeNamed('WeakMap', formatUnknownItems),
  Module: describeModule,
  Number: describeBoxed('Number'),
  String: describeBoxed('String'),
  Boolean: describeBoxed('Boolean'),
  BigInt: describeBoxed('BigInt'),
  Symbol: describeBoxed('Symbol'),
};
