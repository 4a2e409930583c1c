const fs = require('node:fs');
console.log(JSON.stringify(fs.readFileSync(0, 'utf8')));
