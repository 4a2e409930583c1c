const wanted = Number(process.argv[2]) * 2 ** 20;

function attempt(what, act) {
  try {
    act();
    console.log(`${what}: done`);
  } catch (error) {
    console.log(`${what}: ${error instanceof Error ? 'refused' : error}`);
  }
}

attempt('Buffer.alloc', () => Buffer.alloc(wanted));
attempt('Uint8Array', () => new Uint8Array(wanted));
attempt('Float64Array', () => new Float64Array(wanted / 8));
attempt('ArrayBuffer', () => new ArrayBuffer(wanted));
attempt('a filled array', () => new Array(wanted / 8).fill(0));
attempt('an array by index', () => {
  const list = [];
  for (let i = 0; i < wanted / 8; i++) list[i] = i;
});
attempt('repeat', () => 'x'.repeat(wanted).length);
attempt('repeat twice as wide', () => '\u20ac'.repeat(wanted / 2).length);
attempt('doubling a string', () => {
  let text = 'x'.repeat(1024);
  while (text.length < wanted) text += text;
  return text.charCodeAt(wanted / 2);
});
attempt('many strings', () => {
  const kept = [];
  for (let i = 0; i < wanted / 1024; i++) kept.push(`${i}`.padEnd(1000));
});
attempt('many objects', () => {
  const kept = [];
  for (let i = 0; i < wanted / 64; i++) kept.push({ i });
});
attempt('a map', () => {
  const kept = new Map();
  for (let i = 0; i < wanted / 32; i++) kept.set(i, i);
});
attempt('join of holes', () => new Array(wanted / 64).join('x'.repeat(64)).length);
attempt('a big integer', () => 1n << BigInt(wanted) * 8n);
attempt('JSON', () => JSON.stringify(new Array(wanted / 2).fill(0)).length);
attempt('split', () => 'x'.repeat(wanted / 8).split('').length);
attempt('flat', () => Array.from({ length: 8 }, () => new Array(wanted / 64).fill(1)).flat().length);
attempt('a growing Buffer', () => {
  let all = Buffer.alloc(1024);
  while (all.length < wanted) all = Buffer.concat([all, all]);
});
attempt('a file', () => require('node:fs').readSync(0, Buffer.allocUnsafe(wanted)));
attempt('inspect', () => require('node:util').inspect(new Array(wanted / 16).fill('x'), { maxArrayLength: Infinity }).length);
console.log('goes on', Buffer.alloc(10 * 2 ** 20).length);
