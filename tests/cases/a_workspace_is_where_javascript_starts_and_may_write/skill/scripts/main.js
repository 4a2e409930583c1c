const fs = require('node:fs');
console.log(process.cwd(), fs.readFileSync('given.txt', 'utf8'));
fs.writeFileSync('made.txt', 'made');
fs.mkdirSync('folder/inner', { recursive: true });
process.chdir('folder');
console.log(process.cwd(), fs.readdirSync('..'), fs.readFileSync(`${__dirname}/../SKILL.md`, 'utf8').split('\n')[1]);
