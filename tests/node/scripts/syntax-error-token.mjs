// A token where none may be.
console.log('never');
function broken( {
  return 1;
}
