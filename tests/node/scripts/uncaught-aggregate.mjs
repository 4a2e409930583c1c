// Several errors in one.
const errors = [new Error('first'), new TypeError('second')];
throw new AggregateError(errors, 'both failed');
