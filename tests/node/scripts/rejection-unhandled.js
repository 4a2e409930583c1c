// A rejected promise that nobody handles.
console.log('before');
async function fetchData() {
  throw new Error('no data');
}
fetchData();
setTimeout(() => console.log('never'), 5000);
process.on('exit', (code) => console.log('exit', code));
