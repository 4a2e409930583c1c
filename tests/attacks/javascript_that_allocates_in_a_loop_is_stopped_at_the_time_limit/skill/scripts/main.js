console.log('begins');
if (process.argv[2] === 'endless') {
  for (;;) ({ a: [], b: 'x'.repeat(1000) });
} else {
  for (let i = 0; i < 1000; i++) ({ a: [], b: 'x'.repeat(1000) });
}
console.log('ends');
