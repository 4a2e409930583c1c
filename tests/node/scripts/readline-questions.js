// Questions answered from a pipe, one inside the other; the prompt shows on standard output.
const readline = require('readline');
const rl = readline.createInterface({ input: process.stdin, output: process.stdout, prompt: '> ' });
rl.question('What is your name? ', (name) => {
  console.log(`Hello, ${name}!`);
  rl.question('Age? ', (age) => {
    console.log(Number(age) + 1);
    console.log(rl.getPrompt());
    rl.prompt();
    rl.on('line', (line) => {
      console.log(`got ${line}`);
      rl.prompt();
    });
    rl.on('close', () => console.log('closed'));
  });
});
