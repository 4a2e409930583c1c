// The class behind readline: lines from a stream that is no terminal.

import { invalidArgType, invalidArgValue, nodeError } from '../../internal/errors.js';
import { validateAbortSignal, validateArray, validateNumber, validateString, validateUint32 } from '../../internal/validators.js';
import { EventEmitter } from '../events/emitter.js';
import { kFirstEventParam, on } from '../events/helpers.js';
import { StringDecoder } from '../string_decoder.js';

const LINE_END = /\r?\n|\r(?!\n)|\u2028|\u2029/g;
const MIN_CRLF_DELAY = 100;

export const kQuestion = Symbol('question');
export const kQuestionReject = Symbol('questionReject');
export const kForget = Symbol('forget');

const closedError = () => nodeError(Error, 'ERR_USE_AFTER_CLOSE', 'readline was closed');

export function InterfaceConstructor(input, output, completer, terminal) {
  EventEmitter.call(this);
  let options = {};
  if (input?.input) {
    options = input;
    ({ input, output, completer, terminal } = options);
    if (options.signal !== undefined) validateAbortSignal(options.signal, 'options.signal');
  }
  const prompt = options.prompt === undefined ? '> ' : options.prompt;
  if (options.prompt !== undefined) validateString(prompt, 'prompt');
  if (completer !== undefined && typeof completer !== 'function') throw invalidArgValue('completer', completer);
  if (options.history !== undefined) validateArray(options.history, 'history');
  const historySize = options.historySize ?? 30;
  validateNumber(historySize, 'historySize', 0);
  if (options.tabSize !== undefined) validateUint32(options.tabSize, 'tabSize', true);
  if (typeof input?.on !== 'function') throw invalidArgType('input', 'Readable', input);

  this.line = '';
  this.terminal = Boolean(terminal ?? output?.isTTY);
  this.input = input;
  this.output = output;
  this.history = options.history ?? [];
  this.historySize = historySize;
  this.removeHistoryDuplicates = Boolean(options.removeHistoryDuplicates);
  this.crlfDelay = options.crlfDelay ? Math.max(MIN_CRLF_DELAY, options.crlfDelay) : MIN_CRLF_DELAY;
  this.completer = completer;
  this.escapeCodeTimeout = options.escapeCodeTimeout ?? 500;
  this.tabSize = options.tabSize ?? 8;
  this.closed = false;
  this.paused = false;
  this.cursor = 0;
  states.set(this, {
    prompt,
    buffer: '',
    afterReturn: false,
    decoder: new StringDecoder('utf8'),
    question: null,
    oldPrompt: prompt,
    iterator: undefined,
  });
  this[kQuestionReject] = null;

  const onData = (chunk) => receive(this, chunk);
  const onEnd = () => {
    const state = states.get(this);
    const rest = state.buffer + state.decoder.end();
    state.buffer = '';
    if (rest !== '') this.emit('line', rest);
    this.close();
  };
  const onError = (error) => this.emit('error', error);
  input.on('error', onError);
  input.on('data', onData);
  input.on('end', onEnd);
  this.once('close', () => {
    input.removeListener('data', onData);
    input.removeListener('error', onError);
    input.removeListener('end', onEnd);
  });
  const { signal } = options;
  if (signal) {
    const onAbort = () => this.close();
    if (signal.aborted) queueMicrotask(onAbort);
    else {
      signal.addEventListener('abort', onAbort, { once: true });
      this.once('close', () => signal.removeEventListener('abort', onAbort));
    }
  }
  input.resume();
}
Object.setPrototypeOf(InterfaceConstructor.prototype, EventEmitter.prototype);
Object.setPrototypeOf(InterfaceConstructor, EventEmitter);

const states = new WeakMap();

function receive(self, chunk) {
  const state = states.get(self);
  let text = typeof chunk === 'string' ? chunk : state.decoder.write(chunk);
  // A line feed that comes in the next piece belongs to the carriage return before it.
  if (state.afterReturn && text !== '') {
    if (text[0] === '\n') text = text.slice(1);
    state.afterReturn = false;
  }
  if (text === '') return;
  const all = state.buffer + text;
  state.afterReturn = all.endsWith('\r');
  let start = 0;
  const lines = [];
  for (const match of all.matchAll(LINE_END)) {
    lines.push(all.slice(start, match.index));
    start = match.index + match[0].length;
  }
  state.buffer = all.slice(start);
  for (const line of lines) deliver(self, line);
}

function deliver(self, line) {
  const state = states.get(self);
  const { question } = state;
  if (question) {
    state.question = null;
    self.setPrompt(state.oldPrompt);
    question(line);
  } else {
    self.emit('line', line);
  }
}

const methods = {
  get columns() {
    return this.output?.columns ?? Infinity;
  },

  getPrompt() {
    return states.get(this).prompt;
  },

  setPrompt(prompt) {
    states.get(this).prompt = prompt;
  },

  prompt() {
    if (this.closed) throw closedError();
    if (this.paused) this.resume();
    if (this.output !== null && this.output !== undefined) this.output.write(states.get(this).prompt);
  },

  [kQuestion](query, callback) {
    if (this.closed) throw closedError();
    const state = states.get(this);
    if (!state.question) {
      state.oldPrompt = state.prompt;
      this.setPrompt(query);
      state.question = callback;
    }
    this.prompt();
  },

  [kForget]() {
    const state = states.get(this);
    if (!state.question) return;
    state.question = null;
    this.setPrompt(state.oldPrompt);
    this.clearLine?.();
  },

  close() {
    if (this.closed) return;
    this.pause();
    this.closed = true;
    this.emit('close');
  },

  [Symbol.dispose]() {
    this.close();
  },

  pause() {
    if (this.closed) throw closedError();
    if (this.paused) return undefined;
    this.input.pause();
    this.paused = true;
    this.emit('pause');
    return this;
  },

  resume() {
    if (this.closed) throw closedError();
    if (!this.paused) return undefined;
    this.input.resume();
    this.paused = false;
    this.emit('resume');
    return this;
  },

  write(data) {
    if (this.closed) throw closedError();
    if (this.paused) this.resume();
    if (data !== undefined && data !== null) receive(this, typeof data === 'string' ? data : `${data}`);
  },

  getCursorPos() {
    return { cols: states.get(this).prompt.length, rows: 0 };
  },

  [Symbol.asyncIterator]() {
    const state = states.get(this);
    state.iterator ??= on(this, 'line', { close: ['close'], highWaterMark: 1024, [kFirstEventParam]: true });
    return state.iterator;
  },
};
Object.defineProperties(InterfaceConstructor.prototype, Object.getOwnPropertyDescriptors(methods));
