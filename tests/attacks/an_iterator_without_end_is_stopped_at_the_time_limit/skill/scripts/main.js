console.log('begins');
if (process.argv[2] === 'endless') {
  new Set({ [Symbol.iterator]: () => ({ next: () => ({ done: false }) }) }, () => 0, 0).length;
} else {
  console.log(new Set([1, 2]).size);
}
console.log('ends');
