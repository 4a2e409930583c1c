require('./broken.js');
