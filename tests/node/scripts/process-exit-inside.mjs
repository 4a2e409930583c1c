// process.exit ends at once: nothing after it runs, handlers do.
process.on('exit', (code) => {
  console.log('exit handler', code);
  process.exitCode = 9;
});
setTimeout(() => console.log('never'), 0);
process.nextTick(() => console.log('never'));
try {
  console.log('before');
  process.exit(7);
} catch {
  console.log('never: exit is no exception');
} finally {
  console.log('never: finally does not run');
}
