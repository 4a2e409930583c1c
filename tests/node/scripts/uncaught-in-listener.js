// An 'error' event without a listener.
const EventEmitter = require('events');
const emitter = new EventEmitter();
emitter.on('go', () => {
  emitter.emit('error', new Error('nobody listens'));
});
emitter.emit('go');
