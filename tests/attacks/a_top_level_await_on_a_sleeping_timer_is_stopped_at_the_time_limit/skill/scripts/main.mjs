console.log('begins');
if (process.argv[2] === 'endless') {
  await new Promise((resolve) => setTimeout(resolve, 1e6));
} else {
  await new Promise((resolve) => setTimeout(resolve, 10));
}
console.log('ends');
