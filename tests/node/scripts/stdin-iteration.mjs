// Standard input by for await, chunks joined.
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const input = Buffer.concat(chunks).toString('utf8');
console.log(chunks.every(Buffer.isBuffer), input.trim().split(/\s+/).length);
console.log(input.toUpperCase());
