// Globals that packages of this layer read while they are evaluated: import this before such a package.

import { AbortController, AbortSignal } from './abort.js';
import { TextDecoder, TextEncoder } from './encoding.js';

for (const value of [AbortController, AbortSignal, TextDecoder, TextEncoder]) {
  Object.defineProperty(globalThis, value.name, { value, writable: true, configurable: true });
}
