const { EventEmitter } = require('node:events');
new EventEmitter().emit('error', new Error('nobody listens'));
