// `timeZone` and `timeZoneName` of Intl, and what TZ may hold.

const winter = Date.UTC(2024, 0, 15, 22, 5, 9);
const summer = Date.UTC(2024, 6, 15, 22, 5, 9);
const zones = [
  'UTC', 'Etc/GMT', 'Europe/Berlin', 'europe/london', 'Europe/Dublin', 'America/New_York', 'US/Pacific', 'America/Anchorage', 'Pacific/Honolulu',
  'America/St_Johns', 'Asia/Calcutta', 'Asia/Kolkata', 'Asia/Katmandu', 'Australia/Lord_Howe', 'Pacific/Auckland', 'Etc/GMT-14', 'Europe/Kyiv',
  'America/Argentina/Ushuaia', 'Africa/Abidjan', 'Asia/Tokyo', 'EST', 'EST5EDT', '+05:30', '-0330', '+00',
];

for (const timeZone of zones) {
  const { timeZone: resolved } = new Intl.DateTimeFormat('en-US', { timeZone }).resolvedOptions();
  console.log(`${timeZone}: ${resolved}`);
  for (const time of [winter, summer]) {
    const date = new Date(time);
    console.log(' ', date.toLocaleString('en-US', { timeZone }), '|', date.toLocaleDateString('en-US', { timeZone, dateStyle: 'full' }));
    const names = ['short', 'long', 'shortOffset', 'longOffset'].map((timeZoneName) => {
      const parts = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName, hour: 'numeric' }).formatToParts(date);
      return parts.find(({ type }) => type === 'timeZoneName').value;
    });
    console.log('   ', names.join(' | '));
  }
}

for (const timeZone of ['Mars/Phobos', 'x', '', '+25:00', '+5', 'UTC+1', 'Europe/Berlin\0', null])
  try {
    new Intl.DateTimeFormat('en-US', { timeZone });
    console.log('no error');
  } catch (error) {
    console.log(JSON.stringify(timeZone), error.name, JSON.stringify(error.message));
  }

console.log(new Date(-5e12).toLocaleString('en-US', { timeZone: 'Europe/Amsterdam', timeZoneName: 'longOffset' }));
console.log(new Date(8.64e15).toLocaleString('en-US', { timeZone: 'Asia/Tokyo' }));
console.log(new Date(-8.64e15).toLocaleTimeString('en-US', { timeZone: 'America/New_York' }));
console.log(new Date(winter).toLocaleString('de-DE', { timeZone: 'Asia/Tokyo' }), new Date(winter).toLocaleString('sv-SE', { timeZone: 'America/Denver' }));

const known = Intl.supportedValuesOf('timeZone');
console.log(known.includes('Europe/Berlin'), known.includes('Asia/Calcutta'), known.includes('US/Pacific'), known.length > 400);

for (const value of ['America/New_York', ':Europe/Paris', 'posix/Asia/Tokyo', 'Mars/Phobos', 'europe/berlin', 'CET-1CEST,M3.5.0,M10.5.0/3', 'UTC0', '', 'US/Central', 'Asia/Saigon']) {
  process.env.TZ = value;
  const date = new Date(summer);
  console.log(JSON.stringify(value), '|', date.toString(), '|', date.getTimezoneOffset(), '|', date.toLocaleString(), '|', Intl.DateTimeFormat().resolvedOptions().timeZone);
}
delete process.env.TZ;
console.log(new Date(summer).toString());
