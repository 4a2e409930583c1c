// EventEmitter: what removal reports, wrappers of once, rejections, the warning, the async resource.
const EventEmitter = require('events');
const { EventEmitterAsyncResource, captureRejectionSymbol, on, addAbortListener } = EventEmitter;

const emitter = new EventEmitter();
const named = (name) => Object.assign(() => console.log('called', name), { named: name });
const [a, b, c] = ['a', 'b', 'c'].map(named);
emitter.on('removeListener', (type, listener) => console.log('removed', type, listener.named));
emitter.on('removeListener', named('second'));
emitter.on('x', a).once('x', b).prependOnceListener('x', c).on('x', a);
console.log(emitter.listenerCount('x', a), emitter.listenerCount('x', b), emitter.rawListeners('x')[2].name);
emitter.removeListener('x', b).removeListener('x', named('stranger'));
emitter.emit('x');
emitter.removeAllListeners('x');
emitter.on('y', a).on('y', b);
emitter.removeAllListeners();
console.log(emitter.eventNames(), emitter);

const withOwn = Object.create(EventEmitter.prototype);
withOwn._events = { z: a };
withOwn._eventsCount = 1;
EventEmitter.call(withOwn);
console.log(withOwn.off('z', a), withOwn.emit('z'), EventEmitter);

const capturing = new EventEmitter({ captureRejections: true });
capturing[captureRejectionSymbol] = (error, type, ...args) => console.log('rejected', error, type, args);
capturing.on('go', async () => { throw 'reason'; });
capturing.emit('go', 1, 2);
try {
  new EventEmitter({ captureRejections: 'yes' });
} catch (error) {
  console.log(error.code, error.message);
}

const resource = new EventEmitterAsyncResource('Mine');
resource.on('x', function (...args) { console.log('resource', this === resource, args); });
console.log(resource.emit('x', 1), resource.asyncResource.eventEmitter === resource, typeof resource.asyncId, resource.asyncResource.constructor !== Object);

const paused = Object.assign(new EventEmitter(), { pause: () => console.log('pause'), resume: () => console.log('resume') });
const iterator = on(paused, 'tick', { highWaterMark: 2, lowWaterMark: 1 });
for (let i = 0; i < 4; i++) paused.emit('tick', i);
(async () => {
  for (let i = 0; i < 4; i++) console.log(await iterator.next());
  const waiting = iterator.next();
  iterator.throw(new Error('thrown in'));
  console.log(await waiting.catch((error) => error.message), await iterator.next(), paused.eventNames());
  const controller = new AbortController();
  const disposable = addAbortListener(controller.signal, () => console.log('not called'));
  disposable[Symbol.dispose]();
  addAbortListener(controller.signal, (event) => console.log(event.type));
  controller.abort();
  for (let i = 0; i < 11; i++) emitter.on('many', a);
})();
