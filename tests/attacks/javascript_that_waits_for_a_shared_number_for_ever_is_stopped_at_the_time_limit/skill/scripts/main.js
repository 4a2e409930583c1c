const shared = new Int32Array(new SharedArrayBuffer(8));
console.log('begins');
console.log(Atomics.wait(shared, 0, 1), Atomics.wait(shared, 0, 0, 20));
if (process.argv[2] === 'endless') Atomics.wait(shared, 0, 0);
console.log('ends');
