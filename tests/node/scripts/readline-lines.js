// Lines of standard input by event.
const readline = require('readline');
const rl = readline.createInterface({ input: process.stdin });
let count = 0;
rl.on('line', (line) => {
  count++;
  console.log(count, JSON.stringify(line));
});
rl.on('pause', () => console.log('pause'));
rl.on('close', () => console.log('close', count, rl.closed));
console.log(rl.terminal, rl.line, typeof rl.question);
