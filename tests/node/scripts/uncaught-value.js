// Something that is no error is thrown.
console.log('before');
throw { reason: 'an object', code: 7 };
