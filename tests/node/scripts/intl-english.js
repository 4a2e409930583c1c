// Numbers, dates, lists and comparison in English.
console.log(
  (1234567.891).toLocaleString(),
  (1234.5).toLocaleString('en-US'),
  (0.256).toLocaleString('en-US', { style: 'percent' }),
  (0.256).toLocaleString('en-US', { style: 'percent', maximumFractionDigits: 1 }),
);
console.log(
  (1234.5).toLocaleString('en-US', { style: 'currency', currency: 'USD' }),
  (-5).toLocaleString('en-US', { style: 'currency', currency: 'EUR' }),
  (1e6).toLocaleString('en-US', { style: 'currency', currency: 'JPY' }),
  (12.345).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 }),
);
console.log(
  (5).toLocaleString('en-US', { minimumIntegerDigits: 2 }),
  (1234567).toLocaleString('en-US', { useGrouping: false }),
  NaN.toLocaleString(),
  Infinity.toLocaleString(),
  123456789012345678901234567890n.toLocaleString('en-US'),
  (1234567).toLocaleString('en-US', { notation: 'compact' }),
);
console.log(
  new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 }).format(2.25),
  new Intl.NumberFormat('en-US', { style: 'unit', unit: 'kilometer' }).format(5),
  [1, 10000.5].toLocaleString(),
);
const date = new Date(Date.UTC(2024, 1, 29, 15, 4, 5, 678));
console.log(
  date.toLocaleDateString('en-US'),
  '|',
  date.toLocaleTimeString('en-US'),
  '|',
  date.toLocaleString('en-US'),
  '|',
  date.toLocaleDateString(),
  '|',
  date.toLocaleString(),
);
console.log(
  date.toLocaleDateString('en-US', { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' }),
  '|',
  date.toLocaleDateString('en-US', { month: 'short', day: '2-digit' }),
  '|',
  date.toLocaleDateString('en-US', { year: '2-digit', month: '2-digit', day: '2-digit' }),
);
console.log(
  date.toLocaleTimeString('en-US', { hour: '2-digit', minute: '2-digit' }),
  '|',
  date.toLocaleTimeString('en-US', { hour12: false }),
  '|',
  date.toLocaleString('en-US', { timeZone: 'UTC', timeZoneName: 'short' }),
  '|',
  date.toLocaleDateString('en-GB'),
  '|',
  date.toLocaleString('en-US', { dateStyle: 'medium', timeStyle: 'short' }),
);
console.log(
  new Intl.DateTimeFormat('en-US').format(date),
  new Intl.DateTimeFormat('en-US', { month: 'long', year: 'numeric' }).format(date),
  new Intl.DateTimeFormat().resolvedOptions().timeZone,
  new Intl.DateTimeFormat('en-US', { year: 'numeric', month: 'short' })
    .formatToParts(date)
    .map((part) => part.type)
    .join(),
);
console.log(
  ['b', 'a', 'C', 'ä', 'Z', 'z', '10', '9'].sort((x, y) => x.localeCompare(y)),
  'a'.localeCompare('B'),
  'a'.localeCompare('a'),
  ['item 10', 'item 9'].sort(new Intl.Collator('en', { numeric: true }).compare),
  'a'.localeCompare('A', 'en', { sensitivity: 'base' }),
);
console.log(
  new Intl.PluralRules('en-US').select(1),
  new Intl.PluralRules('en-US').select(2),
  new Intl.PluralRules('en-US', { type: 'ordinal' }).select(22),
  new Intl.ListFormat('en', { style: 'long', type: 'conjunction' }).format(['a', 'b', 'c']),
  new Intl.ListFormat('en', { type: 'disjunction' }).format(['a', 'b']),
);
console.log(
  new Intl.RelativeTimeFormat('en', { numeric: 'auto' }).format(-1, 'day'),
  new Intl.RelativeTimeFormat('en').format(3, 'hour'),
  [...new Intl.Segmenter('en', { granularity: 'grapheme' }).segment('ae\u0301👍🏽')].length,
  'ISTANBUL'.toLocaleLowerCase('en-US'),
  'é'.normalize('NFD').length,
);
console.log(
  String(date),
  date.toISOString(),
  date.toUTCString(),
  date.toDateString(),
  date.toTimeString(),
  date.toJSON(),
  date.getTimezoneOffset(),
  Intl.getCanonicalLocales('EN-us'),
  Intl.NumberFormat.supportedLocalesOf(['en-US']),
);
