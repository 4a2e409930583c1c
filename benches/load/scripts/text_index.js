// Indexes the words of many small texts and looks some of them up.
const WORDS = 'alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi'.split(' ');
const index = new Map();
for (let document = 0; document < 6_000; document++) {
  const words = Array.from({ length: 20 }, (_, at) => WORDS[(document * 7 + at * at) % WORDS.length] + (document % 40));
  const text = words.join(' ').toUpperCase();
  for (const word of text.toLowerCase().split(/\s+/)) {
    const places = index.get(word);
    if (places) places.add(document);
    else index.set(word, new Set([document]));
  }
}
const most = [...index].sort(([a, x], [b, y]) => y.size - x.size || (a < b ? -1 : 1)).slice(0, 3);
console.log(index.size, most.map(([word, places]) => `${word}=${places.size}`).join(' '));
