// `console` and the class `Console`.

import { binding } from '../internal/binding.js';
import { invalidArgType, invalidArgValue, nodeError } from '../internal/errors.js';
import { process } from '../internal/process.js';
import { validateInteger, validateObject } from '../internal/validators.js';
import { formatWithOptions } from './util/format.js';
import { inspect } from './util/inspect.js';
import { table } from './console/table.js';

const { defineProperty } = Object;
const { apply } = Reflect;
const GROUP = 2;

// What a console keeps to itself.
const states = new WeakMap();
const { get: stateIn, set: putState } = WeakMap.prototype;
const stateOf = (console) => apply(stateIn, states, [console]);

function write(console, name, text) {
  const state = stateOf(console);
  const stream = state[name];
  if (state.indent !== '') text = text.includes('\n') ? text.replaceAll('\n', `\n${state.indent}`) : text;
  text = `${state.indent}${text}\n`;
  if (!state.ignoreErrors) {
    stream.write(text);
    return;
  }
  // An error of the stream is nobody's business, but the listener stays only as long as the write.
  const ignore = () => {};
  stream.once('error', ignore);
  try {
    stream.write(text, ignore);
  } catch (error) {
    if (error instanceof RangeError && /call stack/.test(error.message)) throw error;
  } finally {
    stream.removeListener('error', ignore);
  }
}

function optionsFor(state, name) {
  const stream = state[name];
  const own = state.inspectOptions;
  if (own) return own.get ? own.get(stream) ?? {} : own;
  const colors = state.colorMode === 'auto' ? Boolean(stream.isTTY && (typeof stream.getColorDepth !== 'function' || stream.getColorDepth() > 2)) : state.colorMode;
  return colors ? { colors } : {};
}

const format = (console, name, args) => formatWithOptions(optionsFor(stateOf(console), name), ...args);

/** `1.234ms`, `12.3s`, `1:02.345 (m:ss.mmm)`. */
function duration(milliseconds) {
  const pad = (value) => String(value).padStart(2, '0');
  if (milliseconds < 1000) return `${Number(milliseconds.toFixed(3))}ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${seconds.toFixed(3)}s`;
  const fraction = (seconds % 60).toFixed(3).padStart(6, '0');
  const minutes = Math.floor(seconds / 60) % 60;
  const hours = Math.floor(seconds / 3600);
  return hours === 0 ? `${minutes}:${fraction} (m:ss.mmm)` : `${hours}:${pad(minutes)}:${pad(Math.floor(seconds % 60))} (h:mm:ss)`;
}

const methods = {
  log(...args) {
    write(this, 'stdout', format(this, 'stdout', args));
  },
  warn(...args) {
    write(this, 'stderr', format(this, 'stderr', args));
  },
  error(...args) {
    write(this, 'stderr', format(this, 'stderr', args));
  },
  dir(object, options) {
    write(this, 'stdout', inspect(object, { customInspect: false, ...optionsFor(stateOf(this), 'stdout'), ...options }));
  },
  time(label = 'default') {
    label = `${label}`;
    const { timers } = stateOf(this);
    if (timers.has(label)) {
      process.emitWarning(`Label '${label}' already exists for console.time()`);
      return;
    }
    timers.set(label, binding.now());
  },
  timeEnd(label = 'default') {
    label = `${label}`;
    if (report(this, 'timeEnd', label, [])) stateOf(this).timers.delete(label);
  },
  timeLog(label = 'default', ...args) {
    report(this, 'timeLog', `${label}`, args);
  },
  trace(...args) {
    const error = { name: 'Trace', message: format(this, 'stderr', args) };
    Error.captureStackTrace(error, this.trace);
    this.error(error.stack);
  },
  assert(value, ...args) {
    if (value) return;
    if (typeof args[0] === 'string') args[0] = `Assertion failed: ${args[0]}`;
    else args.unshift('Assertion failed');
    this.warn(...args);
  },
  clear() {},
  count(label = 'default') {
    label = `${label}`;
    const { counts } = stateOf(this);
    const count = (counts.get(label) ?? 0) + 1;
    counts.set(label, count);
    this.log(`${label}: ${count}`);
  },
  countReset(label = 'default') {
    label = `${label}`;
    const { counts } = stateOf(this);
    if (!counts.has(label)) {
      process.emitWarning(`Count for '${label}' does not exist`);
      return;
    }
    counts.delete(label);
  },
  group(...args) {
    if (args.length > 0) this.log(...args);
    const state = stateOf(this);
    state.indent += ' '.repeat(state.groupIndentation);
  },
  groupEnd() {
    const state = stateOf(this);
    state.indent = state.indent.slice(0, state.indent.length - state.groupIndentation);
  },
  table(data, properties) {
    if (data === null || typeof data !== 'object') {
      this.log(data);
      return;
    }
    if (properties !== undefined && !Array.isArray(properties)) throw invalidArgType('properties', 'Array', properties);
    const text = table(data, properties, optionsFor(stateOf(this), 'stdout'));
    if (text === undefined) this.log(data);
    else this.log(text);
  },
};
methods.info = methods.log;
methods.debug = methods.log;
methods.dirxml = methods.log;
methods.groupCollapsed = methods.group;

function report(console, name, label, args) {
  const started = stateOf(console).timers.get(label);
  if (started === undefined) {
    process.emitWarning(`No such label '${label}' for console.${name}()`);
    return false;
  }
  const text = duration(binding.now() - started);
  console.log(...(args.length > 0 ? ['%s: %s', label, text, ...args] : ['%s: %s', label, text]));
  return true;
}

function install(console, state) {
  apply(putState, states, [console, { indent: '', timers: new Map(), counts: new Map(), ...state }]);
  for (const name of Object.keys(methods)) {
    // Bound, each with its own name: scripts pass `console.log` around.
    const f = methods[name];
    const bound = { [name]: (...args) => apply(f, console, args) }[name];
    console[name] = bound;
  }
}

export function Console(options, ...rest) {
  if (!new.target) return new Console(options, ...rest);
  if (!options || typeof options.write === 'function') options = { stdout: options, stderr: rest[0], ignoreErrors: rest[1] };
  const { stdout, stderr = stdout, ignoreErrors = true, colorMode = 'auto', inspectOptions, groupIndentation = GROUP } = options;
  for (const [name, stream] of [['stdout', stdout], ['stderr', stderr]]) {
    if (!stream || typeof stream.write !== 'function') {
      throw nodeError(TypeError, 'ERR_CONSOLE_WRITABLE_STREAM', `Console expects a writable stream instance for ${name}`);
    }
  }
  if (typeof colorMode !== 'boolean' && colorMode !== 'auto') throw invalidArgValue('colorMode', colorMode);
  if (groupIndentation !== GROUP) validateInteger(groupIndentation, 'groupIndentation', 0, 1000);
  if (inspectOptions !== undefined) validateObject(inspectOptions, 'options.inspectOptions');
  install(this, { stdout, stderr, ignoreErrors, colorMode, inspectOptions, groupIndentation });
}
for (const name of Object.keys(methods)) {
  defineProperty(Console.prototype, name, { value: methods[name], writable: true, enumerable: false, configurable: true });
}

/** The one that scripts get as a global. It asks for the streams when it writes: a script may have changed them. */
const console = Object.create({});
install(console, { colorMode: 'auto', ignoreErrors: false, groupIndentation: GROUP });
const own = stateOf(console);
defineProperty(own, 'stdout', { get: () => process.stdout });
defineProperty(own, 'stderr', { get: () => process.stderr });
Object.assign(console, { profile() {}, profileEnd() {}, timeStamp() {}, createTask: (name) => ({ name, run: (f) => f() }), context: () => console });
defineProperty(console, 'Console', { value: Console, writable: true, enumerable: true, configurable: true });
defineProperty(console, Symbol.toStringTag, { value: 'console', configurable: true });
defineProperty(Console, Symbol.hasInstance, { value: (instance) => instance !== null && typeof instance === 'object' && stateOf(instance) !== undefined });

export default console;
