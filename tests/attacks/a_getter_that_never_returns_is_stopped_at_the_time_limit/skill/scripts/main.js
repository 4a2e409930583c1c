console.log('begins');
if (process.argv[2] === 'endless') {
  console.log(JSON.stringify({ get endless() { for (;;) {} } }));
} else {
  console.log(JSON.stringify({ get endless() { return 1; } }));
}
console.log('ends');
