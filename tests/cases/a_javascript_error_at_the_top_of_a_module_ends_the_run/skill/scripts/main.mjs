await null;
console.log('begins');
throw new RangeError('after an await');
