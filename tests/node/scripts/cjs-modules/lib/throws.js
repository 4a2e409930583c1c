console.log('throws runs');
throw new RangeError('while loading');
