process.on('exit', (code) => console.log('exit', code));
Promise.resolve().then(() => process.exit(9));
setTimeout(() => console.log('never printed'), 1);
