// A code beyond a byte keeps its low eight bits.
console.log('leaving');
process.exit(256 + 77);
