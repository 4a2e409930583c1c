// node:readline.

import { AbortError } from '../internal/errors.js';
import { validateAbortSignal } from '../internal/validators.js';
import { promisify } from './util/functions.js';
import { clearLine, clearScreenDown, cursorTo, moveCursor } from './readline/cursor.js';
import { InterfaceConstructor, kForget, kQuestion } from './readline/interface.js';
import promises from './readline/promises.js';

function Interface(input, output, completer, terminal) {
  if (!(this instanceof Interface)) return new Interface(input, output, completer, terminal);
  InterfaceConstructor.call(this, input, output, completer, terminal);
  return undefined;
}
Object.setPrototypeOf(Interface.prototype, InterfaceConstructor.prototype);
Object.setPrototypeOf(Interface, InterfaceConstructor);

Interface.prototype.question = function question(query, options, callback) {
  callback = typeof options === 'function' ? options : callback;
  const { signal } = typeof options === 'object' && options !== null ? options : {};
  if (signal) {
    validateAbortSignal(signal, 'options.signal');
    if (signal.aborted) return;
    const onAbort = () => this[kForget]();
    signal.addEventListener('abort', onAbort, { once: true });
    const original = callback;
    callback = (answer) => {
      signal.removeEventListener('abort', onAbort);
      return original?.(answer);
    };
  }
  if (typeof callback === 'function') this[kQuestion](query, callback);
};

Interface.prototype.question[promisify.custom] = function question(query, options) {
  const { signal } = options ?? {};
  if (signal?.aborted) return Promise.reject(new AbortError(undefined, { cause: signal.reason }));
  return new Promise((resolve, reject) => {
    signal?.addEventListener('abort', () => reject(new AbortError(undefined, { cause: signal.reason })), { once: true });
    this.question(query, options ?? {}, resolve);
  });
};

function createInterface(input, output, completer, terminal) {
  return new Interface(input, output, completer, terminal);
}

/** Keys are a terminal's; a stream that is none gets each character as a key of its own. */
function emitKeypressEvents(stream) {
  if (listening.has(stream)) return;
  listening.add(stream);
  stream.on('data', (chunk) => {
    for (const char of `${chunk}`) {
      const name = char === '\r' ? 'return' : char === '\n' ? 'enter' : char === '\t' ? 'tab' : char.toLowerCase();
      stream.emit('keypress', char, { sequence: char, name, ctrl: false, meta: false, shift: /^[A-Z]$/.test(char) });
    }
  });
}
const listening = new WeakSet();

export default { Interface, clearLine, clearScreenDown, createInterface, cursorTo, emitKeypressEvents, moveCursor, promises };
