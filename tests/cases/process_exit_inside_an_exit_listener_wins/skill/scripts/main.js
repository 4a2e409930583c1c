process.on('exit', (code) => {
  console.log('exit', code);
  process.exit(code + 1);
});
process.exit(40);
