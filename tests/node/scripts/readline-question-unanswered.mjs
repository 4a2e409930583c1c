// A question at the end of the input is never answered: the await does not settle.
import * as readline from 'node:readline/promises';
import { stdin as input, stdout as output } from 'node:process';

const rl = readline.createInterface({ input, output });
console.log(JSON.stringify(await rl.question('First? ')));
process.on('exit', (code) => console.log('exit', code));
console.log(await rl.question('Second? '));
console.log('never');
