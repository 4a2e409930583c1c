// Leaving with the code that is asked for.
const code = Number(process.argv[2] ?? 0);
console.log('leaving with', code, process.argv.slice(2));
process.exitCode = code;
