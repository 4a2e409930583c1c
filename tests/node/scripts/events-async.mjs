// once and on as promises and iterators, aborts, EventTarget.
import { EventEmitter, once, on, getEventListeners, setMaxListeners } from 'events';

const emitter = new EventEmitter();
setImmediate(() => emitter.emit('ready', 1, 'two'));
console.log(await once(emitter, 'ready'));
setImmediate(() => emitter.emit('error', new Error('instead')));
console.log(await once(emitter, 'ready').catch((error) => error.message));
setImmediate(() => {
  for (let i = 0; i < 3; i++) emitter.emit('tick', i);
  emitter.emit('end');
});
for await (const [value] of on(emitter, 'tick', { close: ['end'] })) console.log('tick', value);

const controller = new AbortController();
setImmediate(() => controller.abort());
console.log(
  await once(emitter, 'never', { signal: controller.signal }).catch(
    (error) => `${error.name} ${error.code} ${error.message}`,
  ),
);

const target = new EventTarget();
const listener = (event) =>
  console.log(event.type, event instanceof Event, event.target === target, event.detail, event.defaultPrevented);
target.addEventListener('x', listener);
target.addEventListener('x', listener);
target.addEventListener('x', { handleEvent: (event) => event.preventDefault() });
target.addEventListener('x', () => console.log('only once'), { once: true });
console.log(
  target.dispatchEvent(new CustomEvent('x', { detail: { a: 1 }, cancelable: true })),
  target.dispatchEvent(new Event('x')),
);
target.removeEventListener('x', listener);
console.log(getEventListeners(target, 'x').length, target.dispatchEvent(new Event('x', { cancelable: true })));
setImmediate(() => target.dispatchEvent(new Event('later')));
console.log((await once(target, 'later'))[0].type);
try {
  target.dispatchEvent('x');
} catch (error) {
  console.log(error.code, error.message);
}
try {
  new Event();
} catch (error) {
  console.log(error.code, error.message);
}

setMaxListeners(1, emitter);
emitter.on('many', () => {}).on('many', () => {});
process.on('warning', (warning) => console.log(warning.name, warning.message));
