// Looks for addresses, dates and words in a long text with regular expressions.
const two = (number) => String(number).padStart(2, '0');
const text = Array.from(
  { length: 12_000 },
  (_, n) =>
    `2024-${two((n % 12) + 1)}-${two((n % 28) + 1)} user${n}@mail${n % 9}.example.org wrote ${n * 37} bytes to /var/log/x${n}.log`,
).join('\n');
const addresses = text.match(/\b([\w.+-]+)@((?:[\w-]+\.)+[a-z]{2,})\b/g);
const dates = text.match(/^(\d{4})-(0[1-9]|1[0-2])-([0-2]\d)/gm);
const marked = text.replace(/\b(?:wrote|bytes|to)\b/gi, (word) => word.toUpperCase());
const paths = [...text.matchAll(/\/(?:[^/\s]+\/)*[^/\s]+\.log$/gm)].length;
const numbers = text.match(/(?<= )\d+(?= bytes)/g).reduce((sum, number) => sum + Number(number), 0);
console.log(addresses.length, dates.length, marked.length, paths, numbers);
