// TypeScript that does not parse.
const fine: number = 1;
const broken: = 2;
console.log(fine, broken);
