// Dates: parsing, arithmetic, setting, printing.
const show = (value) => {
  const date = new Date(value);
  return isNaN(date) ? 'invalid' : date.toISOString();
};
for (const text of [
  '2024-02-29',
  '2024-02-29T12:30',
  '2024-02-29T12:30:15Z',
  '2024-02-29T12:30:15.123456+02:00',
  '2024-02',
  '2024',
  '+012024-01-01T00:00:00Z',
  'Thu, 29 Feb 2024 12:00:00 GMT',
  'Feb 29, 2024',
  '29 February 2024 10:00 UTC',
  '2024/02/29',
  '02/29/2024 5:06 PM',
  'Thu Feb 29 2024 15:04:05 GMT+0100 (CET)',
  '2024-13-01',
  '2024-02-29T25:00',
  'garbage',
  '',
])
  console.log(JSON.stringify(text), show(text));
const date = new Date(2024, 0, 31, 12);
date.setMonth(1);
console.log(
  show(date),
  show(new Date(2024, 0, 0)),
  show(new Date(99, 0)),
  show(new Date(2024, 11, 31, 23, 59, 60)),
  show(8.64e15),
  show(8.64e15 + 1),
  show(undefined),
  show(null),
  show(true),
);
console.log(
  new Date(0).getDay(),
  date.setUTCHours(25, 61),
  date.setFullYear(2023, 1, 30),
  date.valueOf() === +date,
  new Date(2024, 0, 1) < new Date(2024, 0, 2),
  typeof (date - 0),
  typeof (date + 0),
  Date.UTC(2024),
  Date.UTC(2024, 1, 29, 1, 2, 3, 4),
);
console.log(
  new Date(1e12).toString(),
  '|',
  new Date(1e12).toUTCString(),
  '|',
  new Date(1e12).toDateString(),
  '|',
  new Date(1e12).toTimeString(),
  '|',
  JSON.stringify({ d: new Date(1e12), bad: new Date(NaN) }),
);
console.log(
  String(new Date(NaN)),
  new Date(NaN).getTime(),
  Number.isNaN(new Date('x').getMonth()),
  typeof Date(),
  Math.abs(new Date() - Date.now()) < 1000,
  new Date(2024, 5).getTimezoneOffset(),
  new Date(new Date(5)).getTime(),
  new Date('5').getTime() === new Date(5).getTime(),
);
try {
  new Date(NaN).toISOString();
} catch (error) {
  console.log(error.name);
}
console.log(
  `${new Date(0)[Symbol.toPrimitive]('number')}`,
  `${new Date(0)}`,
  new Date(0) + 1,
  new Date(-1).getMilliseconds(),
  new Date(-62198755200000).toISOString(),
  new Date(253402300800000).toISOString(),
  new Date(0).toLocaleDateString('en-US', { timeZone: 'UTC' }),
);
