// Nothing on standard input: every way to read it ends.
import fs from 'fs';
import { text } from 'stream/consumers';
console.log(JSON.stringify(await text(process.stdin)));
console.log(fs.readFileSync(0, 'utf8') === '', fs.readSync(0, Buffer.alloc(4)));
console.log(process.stdin.isTTY, process.stdin.readable);
for await (const chunk of process.stdin) console.log('never', chunk);
console.log('over');
