// Prints a line, then sleeps.
console.log('ready');
setTimeout(() => {}, 300_000);
