console.log('out');
console.error('err');
process.exitCode = 3;
