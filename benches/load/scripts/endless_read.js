// Waits for input that never comes.
process.stdin.on('data', () => {});
