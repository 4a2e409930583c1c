console.log(process.argv);
console.log(__filename, __dirname, process.cwd(), require.main === module, module.id, process.argv0);
