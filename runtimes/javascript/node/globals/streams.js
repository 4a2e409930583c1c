// Web streams, and those that encode and decode text.

import {
  ByteLengthQueuingStrategy,
  CountQueuingStrategy,
  ReadableByteStreamController,
  ReadableStream,
  ReadableStreamBYOBReader,
  ReadableStreamBYOBRequest,
  ReadableStreamDefaultController,
  ReadableStreamDefaultReader,
  TransformStream,
  TransformStreamDefaultController,
  WritableStream,
  WritableStreamDefaultController,
  WritableStreamDefaultWriter,
} from 'web-streams-polyfill';
import { nodeError } from '../internal/errors.js';
import { TextDecoder, TextEncoder } from './encoding.js';
import { exposed } from './event_target.js';

const customInspect = Symbol.for('nodejs.util.inspect.custom');

/** The named class around its state, as Node shows web streams. */
function shows(Class, read) {
  Object.defineProperty(Class.prototype, customInspect, {
    value(depth, options, inspect) {
      if (depth < 0) return this;
      const inner = { ...options, depth: options.depth == null ? null : options.depth - 1 };
      return `${this.constructor.name} ${inspect(read(this), inner)}`;
    },
    writable: true,
    configurable: true,
  });
}

shows(ReadableStream, (stream) => ({
  locked: stream.locked,
  state: stream._state,
  supportsBYOB: stream._readableStreamController instanceof ReadableByteStreamController,
}));
shows(WritableStream, (stream) => ({ locked: stream.locked, state: stream._state }));
shows(TransformStream, (stream) => ({ readable: stream.readable, writable: stream.writable, backpressure: stream._backpressure }));

/** Node's error where a stream is taken twice. */
function guarded(Class, method) {
  const original = Class.prototype[method];
  Object.defineProperty(Class.prototype, method, {
    value: {
      [method](...args) {
        if (this.locked) throw nodeError(TypeError, 'ERR_INVALID_STATE', `Invalid state: ${Class.name} is locked`);
        return Reflect.apply(original, this, args);
      },
    }[method],
  });
}
guarded(ReadableStream, 'getReader');
guarded(WritableStream, 'getWriter');

export class TextEncoderStream {
  #encoder = new TextEncoder();
  #transform;
  #high = '';

  constructor() {
    this.#transform = new TransformStream({
      transform: (chunk, controller) => {
        const text = this.#high + `${chunk}`;
        // The first half of a character waits for the second.
        const last = text.charCodeAt(text.length - 1);
        const split = last >= 0xd800 && last <= 0xdbff;
        this.#high = split ? text.slice(-1) : '';
        const bytes = this.#encoder.encode(split ? text.slice(0, -1) : text);
        if (bytes.length > 0) controller.enqueue(bytes);
      },
      flush: (controller) => {
        if (this.#high !== '') controller.enqueue(this.#encoder.encode(this.#high));
      },
    });
  }

  get encoding() {
    return this.#encoder.encoding;
  }

  get readable() {
    return this.#transform.readable;
  }

  get writable() {
    return this.#transform.writable;
  }
}
exposed(TextEncoderStream.prototype, ['encoding', 'readable', 'writable'], 'TextEncoderStream');

export class TextDecoderStream {
  #decoder;
  #transform;

  constructor(encoding = 'utf-8', options = {}) {
    this.#decoder = new TextDecoder(encoding, options);
    this.#transform = new TransformStream({
      transform: (chunk, controller) => {
        const text = this.#decoder.decode(chunk, { stream: true });
        if (text !== '') controller.enqueue(text);
      },
      flush: (controller) => {
        const text = this.#decoder.decode();
        if (text !== '') controller.enqueue(text);
      },
    });
  }

  get encoding() {
    return this.#decoder.encoding;
  }

  get fatal() {
    return this.#decoder.fatal;
  }

  get ignoreBOM() {
    return this.#decoder.ignoreBOM;
  }

  get readable() {
    return this.#transform.readable;
  }

  get writable() {
    return this.#transform.writable;
  }
}
exposed(TextDecoderStream.prototype, ['encoding', 'fatal', 'ignoreBOM', 'readable', 'writable'], 'TextDecoderStream');

export {
  ByteLengthQueuingStrategy,
  CountQueuingStrategy,
  ReadableByteStreamController,
  ReadableStream,
  ReadableStreamBYOBReader,
  ReadableStreamBYOBRequest,
  ReadableStreamDefaultController,
  ReadableStreamDefaultReader,
  TransformStream,
  TransformStreamDefaultController,
  WritableStream,
  WritableStreamDefaultController,
  WritableStreamDefaultWriter,
};
