console.log('loading');
throw new TypeError('in a sibling');
