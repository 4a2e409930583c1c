// node:wasi: there is no WebAssembly inside the sandbox.

import { notImplemented } from '../internal/errors.js';

class WASI {
  constructor() {
    throw notImplemented('new wasi.WASI', 'there is no WebAssembly in the sandbox');
  }
}

export default { WASI };
