// The web's globals, with the attributes that Node gives them. Timers, process and console come from elsewhere.

import './early.js';
import { AbortController, AbortSignal } from './abort.js';
import { atob, btoa } from './base64.js';
import { Blob, File } from './blob.js';
import { CompressionStream, DecompressionStream } from './compression.js';
import { TextDecoder, TextEncoder } from './encoding.js';
import { CustomEvent, Event, EventTarget } from './event_target.js';
import { fetch, Request, Response } from './fetch.js';
import { FormData, Headers } from './headers.js';
import { installIntl } from './intl.js';
import { BroadcastChannel, MessageChannel, MessageEvent, MessagePort } from './messages.js';
import { Navigator, navigator } from './navigator.js';
import { CloseEvent, WebSocket } from './network.js';
import {
  Performance,
  performance,
  PerformanceEntry,
  PerformanceMark,
  PerformanceMeasure,
  PerformanceObserver,
  PerformanceObserverEntryList,
  PerformanceResourceTiming,
} from './performance.js';
import * as streams from './streams.js';
import { structuredClone } from './structured_clone.js';
import { Buffer } from '../modules/buffer/buffer.js';
import { Crypto, CryptoKey, SubtleCrypto, webcrypto } from '../modules/crypto/subtle.js';
import { URL, URLPattern, URLSearchParams } from '../modules/url.js';

/** `enumerable` as Node has it: functions are listed, classes are not. */
function define(values, enumerable) {
  for (const [name, value] of Object.entries(values))
    Object.defineProperty(globalThis, name, { value, writable: true, enumerable, configurable: true });
}

function getter(name, value, { enumerable = true, settable = false } = {}) {
  const accessors = {
    get [name]() {
      return value;
    },
    set [name](other) {
      Object.defineProperty(globalThis, name, { value: other, writable: true, enumerable, configurable: true });
    },
  };
  const { get, set } = Object.getOwnPropertyDescriptor(accessors, name);
  Object.defineProperty(globalThis, name, { get, set: settable ? set : undefined, enumerable, configurable: true });
}

// The order in which `for (name in globalThis)` shows them; those without a value here get one in main.
const ORDER = [
  'global',
  'clearImmediate',
  'setImmediate',
  'clearInterval',
  'clearTimeout',
  'setInterval',
  'setTimeout',
  'queueMicrotask',
  'structuredClone',
  'atob',
  'btoa',
  'performance',
  'fetch',
  'crypto',
  'navigator',
];
for (const name of ORDER) {
  const own = Object.getOwnPropertyDescriptor(globalThis, name);
  delete globalThis[name];
  Object.defineProperty(globalThis, name, own ?? { value: undefined, writable: true, enumerable: true, configurable: true });
}

getter('Buffer', Buffer, { enumerable: false, settable: true });
define(
  {
    URL,
    URLSearchParams,
    AbortController,
    AbortSignal,
    Event,
    EventTarget,
    CustomEvent,
    TextEncoder,
    TextDecoder,
    ...streams,
    CompressionStream,
    DecompressionStream,
    BroadcastChannel,
    MessageChannel,
    MessagePort,
    Blob,
    File,
    Performance,
    PerformanceEntry,
    PerformanceMark,
    PerformanceMeasure,
    PerformanceObserver,
    PerformanceObserverEntryList,
    PerformanceResourceTiming,
    URLPattern,
    FormData,
    Headers,
    Request,
    Response,
    MessageEvent,
    CloseEvent,
    WebSocket,
    Crypto,
    CryptoKey,
    SubtleCrypto,
    Navigator,
  },
  false,
);
define({ structuredClone, atob, btoa, fetch }, true);
getter('performance', performance, { settable: true });
getter('crypto', webcrypto);
getter('navigator', navigator);
installIntl();
