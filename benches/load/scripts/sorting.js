// Sorts numbers, texts and records, by the built-in sort and by one written here.
let state = 99;
const numbers = Array.from({ length: 60_000 }, () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state >>> 8;
});
const texts = numbers
  .map((number) => number.toString(16))
  .map((text) => ({ text, turned: [...text].reverse().join('') }))
  .sort((a, b) => a.text.length - b.text.length || (a.turned < b.turned ? -1 : a.turned > b.turned ? 1 : 0));
const records = numbers.map((n) => ({ n, r: n % 977 })).sort((a, b) => a.r - b.r);

function mergeSort(items) {
  if (items.length < 2) return items;
  const half = items.length >> 1;
  const left = mergeSort(items.slice(0, half));
  const right = mergeSort(items.slice(half));
  const merged = [];
  let i = 0;
  let j = 0;
  while (i < left.length && j < right.length) {
    merged.push(left[i] <= right[j] ? left[i++] : right[j++]);
  }
  return merged.concat(left.slice(i), right.slice(j));
}

const own = mergeSort(numbers.slice(0, 30_000));
const built = Float64Array.from(numbers.slice(0, 30_000)).sort();
console.log(texts[0].text, records.at(-1).r, own.every((number, at) => number === built[at]));
