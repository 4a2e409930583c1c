// The globals, and how they look.
const names = ['globalThis', 'global', 'process', 'Buffer', 'console', 'URL', 'URLSearchParams', 'TextEncoder', 'TextDecoder', 'structuredClone', 'AbortController', 'AbortSignal', 'setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate', 'queueMicrotask', 'Blob', 'File', 'atob', 'btoa', 'performance', 'crypto', 'fetch', 'Headers', 'Request', 'Response', 'FormData', 'Event', 'EventTarget', 'CustomEvent', 'DOMException', 'MessageChannel', 'ReadableStream', 'WritableStream', 'TransformStream', 'CompressionStream', 'DecompressionStream', 'TextDecoderStream', 'navigator', 'WebSocket', 'BroadcastChannel', 'Intl', 'WeakRef', 'FinalizationRegistry', 'Iterator', 'require', 'module', '__dirname', '__filename', 'window', 'self', 'document', 'alert', 'Deno', 'Bun'];
for (const name of names) {
  const descriptor = Object.getOwnPropertyDescriptor(globalThis, name);
  console.log(name.padEnd(22), typeof globalThis[name], descriptor ? (descriptor.enumerable ? 'enumerable' : 'hidden') : 'absent', descriptor ? descriptor.configurable : '');
}
console.log(Object.keys(globalThis));
console.log(Object.prototype.toString.call(globalThis), global === globalThis, globalThis.global === global, Function('return this')() === globalThis);
console.log(typeof require, typeof exports, this);
console.log(performance.now() > 0, typeof performance.timeOrigin, performance.timeOrigin + performance.now() - Date.now() < 5000, performance.mark('m').name, performance.measure('d', 'm').entryType);
console.log(navigator.language, navigator.userAgent.startsWith('Node.js/'), navigator.hardwareConcurrency > 0);
