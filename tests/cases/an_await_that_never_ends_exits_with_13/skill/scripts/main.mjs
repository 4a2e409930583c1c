console.log('begins');
await new Promise(() => {});
console.log('never printed');
