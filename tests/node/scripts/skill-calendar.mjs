#!/usr/bin/env node
// Prints a month, and counts working days between dates.
const [year = 2024, month = 2] = process.argv.slice(2).map(Number);
const first = new Date(Date.UTC(year, month - 1, 1));
const days = new Date(Date.UTC(year, month, 0)).getUTCDate();
const title = first.toLocaleString('en-US', { month: 'long', year: 'numeric', timeZone: 'UTC' });
console.log(title.padStart(10 + Math.ceil(title.length / 2)));
console.log('Mo Tu We Th Fr Sa Su');
const lead = (first.getUTCDay() + 6) % 7;
const cells = [...Array(lead).fill('  '), ...Array.from({ length: days }, (_, i) => String(i + 1).padStart(2))];
for (let i = 0; i < cells.length; i += 7) console.log(cells.slice(i, i + 7).join(' '));

const addDays = (date, n) => new Date(date.getTime() + n * 864e5);
function workingDays(from, to) {
  let count = 0;
  for (let day = new Date(from); day < to; day = addDays(day, 1)) if (![0, 6].includes(day.getUTCDay())) count++;
  return count;
}
const isoWeek = (date) => {
  const thursday = addDays(date, 3 - ((date.getUTCDay() + 6) % 7));
  return (
    1 +
    Math.round(
      (thursday - Date.UTC(thursday.getUTCFullYear(), 0, 4)) / 6048e5 +
        (((new Date(Date.UTC(thursday.getUTCFullYear(), 0, 4)).getUTCDay() + 6) % 7) - 3) / 7,
    )
  );
};
console.log(
  workingDays(first, addDays(first, days)),
  isoWeek(first),
  isoWeek(new Date('2020-12-31T00:00:00Z')),
  isoWeek(new Date('2021-01-03')),
);
const easter = (y) => {
  const [a, b, c] = [y % 19, y % 4, y % 7];
  const d = (19 * a + 24) % 30;
  const e = (2 * b + 4 * c + 6 * d + 5) % 7;
  return new Date(Date.UTC(y, 2, 22 + d + e));
};
console.log(
  [2023, 2024, 2025].map((y) => easter(y).toISOString().slice(5, 10)),
  new Date(2024, 0, 31, 25).toISOString(),
  Date.parse('Feb 29, 2024 10:00 GMT+2'),
  new Date('nonsense').toString(),
);
const units = [
  ['day', 864e5],
  ['hour', 36e5],
  ['minute', 6e4],
];
const ago = (ms) =>
  units
    .filter(([, size]) => ms >= size)
    .map(([unit, size], i, all) => {
      const n = Math.floor((i ? ms % all[i - 1][1] : ms) / size);
      return n ? `${n} ${unit}${n === 1 ? '' : 's'}` : '';
    })
    .filter(Boolean)
    .join(', ') || 'just now';
console.log(ago(95_000_000), '|', ago(3_600_000), '|', ago(5));
