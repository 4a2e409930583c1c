// Keeps some megabytes, then makes cycles that nothing references, or keeps them all.
const kept = [];
for (let i = 0; i < 120; i++) kept.push(new Uint8Array(1 << 20).fill(i));
const keep = process.argv[2] === 'keep' ? [] : undefined;

function cycle(size) {
  const one = { bytes: new Uint8Array(size) };
  one.self = one;
  keep?.push(one);
}

try {
  for (let i = 0; i < 4000; i++) cycle(1 << 18);
  console.log('a gigabyte in buffers');
  for (let i = 0; i < 40; i++) cycle(20 << 20);
  console.log('as much in large ones');
  for (let i = 0; i < 3e6; i++) cycle(0);
  console.log('three million small ones');
} catch (error) {
  console.log(error.name, error.message);
}
console.log('ends', kept.length, kept[119][5]);
