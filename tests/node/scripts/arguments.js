// Arguments arrive as they were given.
console.log(process.argv.slice(2));
console.log(
  process.argv.slice(2).map((word) => word.length),
  process.argv.length,
);
