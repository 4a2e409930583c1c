// Prints a line, then sleeps.
console.log('ready');
setTimeout(() => {}, 25_000);
