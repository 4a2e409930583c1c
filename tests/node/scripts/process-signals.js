// Listening for signals is allowed; asking whether a process lives too.
process
  .on('SIGINT', () => console.log('never'))
  .on('SIGTERM', () => {})
  .once('SIGHUP', () => {});
console.log(process.listenerCount('SIGINT'), process.eventNames().includes('SIGTERM'));
process.removeAllListeners('SIGINT');
console.log(process.listenerCount('SIGINT'));
process.off('SIGTERM', () => {});
try {
  process.kill(process.pid, 'SIGNOPE');
} catch (error) {
  console.log(error.name, error.code, error.message);
}
try {
  process.kill('x');
} catch (error) {
  console.log(error.code, error.message);
}
console.log('the run ends by itself');
