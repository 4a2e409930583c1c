// An error while another file loads.
console.log('main');
require('./broken');
