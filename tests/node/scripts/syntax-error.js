// The parser's complaint: where, and that nothing ran.
console.log('never');
const value = 5;
const value = 6;
