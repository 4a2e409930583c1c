// Prints its own variables.
console.log(Buffer.from(JSON.stringify(process.env)).toString('base64'));
