// AbortController and AbortSignal.
const controller = new AbortController();
const { signal } = controller;
console.log(signal.aborted, signal.reason, signal instanceof EventTarget, controller);
signal.addEventListener('abort', (event) => console.log('event', event.type, event.target === signal));
signal.onabort = () => console.log('onabort');
controller.abort();
controller.abort('ignored');
console.log(
  signal.aborted,
  signal.reason.name,
  signal.reason.code,
  signal.reason.message,
  signal.reason instanceof DOMException,
);
try {
  signal.throwIfAborted();
} catch (error) {
  console.log('thrown', error.name, error === signal.reason);
}
console.log(AbortSignal.abort('why').reason, AbortSignal.abort().aborted);
const first = new AbortController();
const any = AbortSignal.any([first.signal, new AbortController().signal]);
any.addEventListener('abort', () => console.log('any', any.reason.message));
first.abort(new Error('from first'));
const alive = setTimeout(() => {}, 10_000);
const late = AbortSignal.timeout(5);
await new Promise((resolve) => late.addEventListener('abort', resolve));
clearTimeout(alive);
console.log(late.reason.name, late.reason.code, late.reason.message);
try {
  new AbortSignal();
} catch (error) {
  console.log(error.name, error.code, error.message);
}
const error = new DOMException('text', 'NotFoundError');
console.log(
  error.name,
  error.code,
  error.message,
  error instanceof Error,
  DOMException.NOT_FOUND_ERR,
  String(error),
  Object.prototype.toString.call(error),
  new DOMException('m').name,
);
