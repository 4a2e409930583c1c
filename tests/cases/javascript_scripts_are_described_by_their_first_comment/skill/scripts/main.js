// Adds two numbers.
// Usage: main.js A B
console.log(1 + 1);
