// Local time in zones of the world: what Date says, and the way from a local time back.

const times = {
  'far past': -1e13,
  'before there were zones': Date.UTC(1850, 5, 1, 12, 34, 56),
  'the year 1900': Date.UTC(1900, 0, 1),
  'war time': Date.UTC(1943, 6, 1, 12),
  'the beginning': 0,
  'a winter': Date.UTC(1999, 0, 15, 12),
  'a summer': Date.UTC(1999, 6, 15, 12),
  'the year 2000': Date.UTC(2000, 4, 17),
  'a winter now': Date.UTC(2024, 0, 15, 12),
  'a summer now': Date.UTC(2024, 6, 15, 12),
  'a winter to come': Date.UTC(2999, 0, 15, 12),
  'a summer to come': Date.UTC(2999, 6, 15, 12),
};
const zones = [
  'UTC', 'Europe/Berlin', 'Europe/London', 'Europe/Dublin', 'America/New_York', 'America/Los_Angeles', 'America/Sao_Paulo',
  'America/St_Johns', 'Australia/Sydney', 'Australia/Lord_Howe', 'Asia/Kolkata', 'Asia/Kathmandu', 'Asia/Pyongyang', 'Pacific/Apia',
  'Pacific/Chatham', 'Asia/Tehran', 'Africa/Cairo', 'America/Caracas', 'Asia/Jerusalem', 'America/Santiago',
  'Europe/Riga', 'Pacific/Norfolk', 'Antarctica/Troll', 'Asia/Hong_Kong',
];

for (const zone of zones) {
  process.env.TZ = zone;
  console.log(`${zone}: ${new Intl.DateTimeFormat().resolvedOptions().timeZone}`);
  for (const [what, time] of Object.entries(times)) {
    const date = new Date(time);
    const fields = [date.getFullYear(), date.getMonth(), date.getDate(), date.getHours(), date.getMinutes(), date.getSeconds()];
    console.log(`  ${what.padEnd(24)} ${date} ${date.getTimezoneOffset()} ${date.getDay()} ${new Date(...fields).getTime() === Math.floor(time / 1000) * 1000}`);
  }
}

// Every hour from a day before to a day after the clocks move.
function around(zone, ...day) {
  process.env.TZ = zone;
  const moves = [];
  let last;
  for (let time = Date.UTC(...day) - 86400000; time < Date.UTC(...day) + 2 * 86400000; time += 900000) {
    const date = new Date(time);
    if (last !== undefined && date.getTimezoneOffset() !== last) moves.push(`${date.toISOString()} ${last} -> ${date.getTimezoneOffset()}`);
    last = date.getTimezoneOffset();
  }
  console.log(zone, moves);
  const [year, month, date] = day;
  for (let hour = 0; hour < 4; hour++) {
    for (const minute of [0, 30]) {
      const local = new Date(year, month, date, hour, minute);
      console.log(`  ${hour}:${minute}`, local.toISOString(), local.toTimeString());
    }
  }
}
around('Europe/Berlin', 2024, 2, 31);
around('Europe/Berlin', 2024, 9, 27);
around('America/New_York', 2024, 2, 10);
around('America/New_York', 2024, 10, 3);
around('Australia/Sydney', 2024, 3, 7);
around('Australia/Lord_Howe', 2024, 9, 6);
around('Asia/Pyongyang', 2015, 7, 15);
around('Pacific/Apia', 2011, 11, 30);
around('Africa/Cairo', 2024, 3, 26);
around('America/Sao_Paulo', 2018, 10, 4);

process.env.TZ = 'Europe/Berlin';
for (const text of ['2024-07-01', '2024-07-01T12:00', '2024-07-01 12:00', '2024-07-01T12:00:00.5', 'Jul 1 2024', '1 July 2024 12:00', '2024-03-31T02:30', '2024-07-01T12:00Z', 'Mon, 01 Jul 2024 12:00:00 -0500'])
  console.log(text.padEnd(32), new Date(text).toISOString());

const moved = new Date(2024, 0, 31, 12);
moved.setMonth(6);
console.log(moved.toString(), moved.toDateString());
moved.setHours(moved.getHours() + 24 * 120);
console.log(moved.toString());
moved.setFullYear(2024, 2, 31);
moved.setHours(2, 30);
console.log(moved.toString());
moved.setUTCHours(0);
console.log(moved.toString(), moved.toUTCString(), moved.toJSON());
console.log(new Date(2024, 9, 27, 2, 30) - new Date(2024, 9, 27, 1, 30), new Date(2024, 9, 27, 3) - new Date(2024, 9, 27, 2));
