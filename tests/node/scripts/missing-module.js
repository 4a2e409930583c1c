// A module that is not there.
console.log('before');
require('left-pad');
