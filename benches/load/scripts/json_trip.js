// Writes records as JSON and reads them back.
let records = Array.from({ length: 4_000 }, (_, n) => ({
  id: n,
  name: `record ${n} – Grüße`,
  tags: [`t${n % 7}`, `t${n % 11}`, null],
  size: n * 1.25,
  nested: { ok: n % 2 === 0, path: ['a', 'b', String(n)] },
}));
let length = 0;
for (const indent of [0, 2, 0, 0, 0, 0, 0, 2, 0, 0]) {
  const text = JSON.stringify(records, null, indent);
  length += text.length;
  records = JSON.parse(text);
}
console.log(length, records.at(-1).name);
