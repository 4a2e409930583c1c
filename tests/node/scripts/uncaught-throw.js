// An error that nothing catches.
console.log('before');
function inner() {
  throw new Error('boom');
}
function outer() {
  inner();
}
outer();
console.log('never');
