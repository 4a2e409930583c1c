process.on('exit', (code) => console.log('exit', code));
Promise.reject(new Error('rejected'));
setTimeout(() => console.log('never printed'), 50);
