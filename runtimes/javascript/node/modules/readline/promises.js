// node:readline/promises.

import { AbortError } from '../../internal/errors.js';
import { validateAbortSignal } from '../../internal/validators.js';
import { Readline } from './cursor.js';
import { InterfaceConstructor, kForget, kQuestion } from './interface.js';

class Interface extends InterfaceConstructor {
  question(query, options = {}) {
    return new Promise((resolve, reject) => {
      const { signal } = options;
      if (signal) {
        validateAbortSignal(signal, 'options.signal');
        if (signal.aborted) {
          reject(new AbortError(undefined, { cause: signal.reason }));
          return;
        }
        const onAbort = () => {
          this[kForget]();
          reject(new AbortError(undefined, { cause: signal.reason }));
        };
        signal.addEventListener('abort', onAbort, { once: true });
        this[kQuestion](query, (answer) => {
          signal.removeEventListener('abort', onAbort);
          resolve(answer);
        });
        return;
      }
      this[kQuestion](query, resolve);
    });
  }
}

function createInterface(input, output, completer, terminal) {
  return new Interface(input, output, completer, terminal);
}

export default { Interface, Readline, createInterface };
