// The error of a failing call, uncaught.
const fs = require('fs');
console.log('reading');
const text = fs.readFileSync('absent.json', 'utf8');
console.log(text);
