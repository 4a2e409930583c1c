// A name that does not exist.
console.log('before');
const total = [1, 2].map((n) => n * factor);
console.log(total);
