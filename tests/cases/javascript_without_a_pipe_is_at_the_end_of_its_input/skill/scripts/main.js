const fs = require('node:fs');
console.log(JSON.stringify(fs.readFileSync('/dev/stdin', 'utf8')), process.stdin.isTTY, process.stdout.isTTY);
process.stdin.on('data', () => console.log('never printed')).on('end', () => console.log('end'));
