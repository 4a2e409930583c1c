// EventEmitter: order, once, prepend, removal, return values, errors, limits.
const EventEmitter = require('events');
const { once, on, errorMonitor } = EventEmitter;

const emitter = new EventEmitter();
console.log(EventEmitter === EventEmitter.EventEmitter, emitter.emit('nothing'));
emitter.on('newListener', (name, fn) => console.log('newListener', String(name), typeof fn));
emitter.on('removeListener', (name) => console.log('removeListener', String(name)));
const first = function (...args) {
  console.log('first', args, this === emitter);
};
emitter.on('a', first);
emitter.once('a', (x) => console.log('once', x));
emitter.prependListener('a', () => console.log('prepended'));
console.log(emitter.emit('a', 1, 2, 3), emitter.emit('a', 4));
console.log(
  emitter.listenerCount('a'),
  emitter.eventNames(),
  emitter.listeners('a').length,
  emitter.rawListeners('a')[1] === first,
);
emitter.off('a', first).removeAllListeners('a');
console.log(emitter.emit('a'));

const during = new EventEmitter();
during.on('x', () => {
  during.on('x', () => console.log('added while emitting'));
  console.log('original');
});
during.emit('x');
during.emit('x');

const failing = new EventEmitter();
failing.on(errorMonitor, (error) => console.log('monitored', error?.message));
for (const thing of [new Error('an error'), 'a string', { a: 1 }, undefined]) {
  try {
    failing.emit('error', thing);
  } catch (error) {
    console.log(error.name, error.code, error.message, error.context);
  }
}
failing.on('error', (error) => console.log('handled', error.message));
failing.emit('error', new Error('now listened to'));
for (const action of [() => emitter.on('x', 5), () => emitter.setMaxListeners(-1), () => emitter.off('x', null)]) {
  try {
    action();
  } catch (error) {
    console.log(error.code, error.message);
  }
}
console.log(
  emitter.getMaxListeners(),
  EventEmitter.defaultMaxListeners,
  EventEmitter.getEventListeners(failing, 'error').length,
);
class Mine extends EventEmitter {
  constructor() {
    super({ captureRejections: true });
  }
}
const mine = new Mine();
mine.on('error', (error) => console.log('captured', error.message));
mine.on('go', async () => {
  throw new Error('async listener');
});
mine.emit('go');
console.log(Object.keys(new EventEmitter()));
