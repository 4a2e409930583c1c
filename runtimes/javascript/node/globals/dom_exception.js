// DOMException with a stack, which the engine's own lacks.

const Native = globalThis.DOMException;
const { captureStackTrace } = Error;

export class DOMException extends Native {
  constructor(message = '', options = 'Error') {
    if (options !== null && typeof options === 'object') {
      super(message, options.name ?? 'Error');
      if ('cause' in options) Object.defineProperty(this, 'cause', { value: options.cause, writable: true, enumerable: false, configurable: true });
    } else {
      super(message, options);
    }
    captureStackTrace(this, DOMException);
  }
}

for (const name of Object.getOwnPropertyNames(Native)) {
  if (/^[A-Z_]+$/.test(name)) Object.defineProperty(DOMException, name, Object.getOwnPropertyDescriptor(Native, name));
}
Object.defineProperty(DOMException.prototype, Symbol.toStringTag, { value: 'DOMException', configurable: true });
Object.defineProperty(globalThis, 'DOMException', { value: DOMException, writable: true, enumerable: false, configurable: true });
