// Prints a word, typed.
const word: string = 'hello';
console.log(word);
