// Two modules that need each other see what is there so far.
console.log('main starts');
const a = require('./a.js');
const b = require('./b.js');
console.log('in main', a, b, a.fromB(), b.fromA());
console.log(
  module.children.map((child) => child.id.split('/').pop()),
  require.cache[require.resolve('./a')].loaded,
);
require('./self.js');
delete require.cache[require.resolve('./b.js')];
console.log('again', require('./b.js') === b);
