// A file that is no JSON, required.
require('./cjs-modules/lib/broken.json');
