exports.later = import('./modern.mjs').then((module) => module.value);
exports.sync = require('./modern.mjs').value;
