// Says that it is there, then sleeps.
console.log('ready');
setTimeout(() => {}, 25_000);
