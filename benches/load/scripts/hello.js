// Prints a word.
console.log('hello');
