process.exitCode = 201;
console.log('goes on');
