const line = 'x'.repeat(99);
const many = Number(process.argv[2]);
for (let i = 0; i < many; i++) console.log(line);
process.stdout.write('y'.repeat(many * 10));
process.stderr.write('goes on\n');
