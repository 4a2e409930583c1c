// One moment, as the clocks of the run show it.
const date = new Date('2024-07-01T12:00:00Z');
console.log(date.toString());
console.log(date.toLocaleString('en-US', { timeZoneName: 'long' }));
console.log(date.getTimezoneOffset(), new Date(2024, 6, 1, 14).getTime() === date.getTime());
console.log(Intl.DateTimeFormat().resolvedOptions().timeZone);
