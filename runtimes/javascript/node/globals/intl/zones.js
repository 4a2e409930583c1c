// Time zones: the run's own, which is what Date's local methods say, and UTC. Others need a database that is not here.

import process from '../../modules/process.js';

const UTC_NAMES = /^(utc|gmt|etc\/(utc|gmt|zulu|uct|universal|greenwich)|zulu|uct|universal|greenwich)$/i;
const OFFSET = /^([+-])([01]\d|2[0-3])(?::?([0-5]\d))?$/;

/** `{ name, offset(time) }`, the offset in minutes east of Greenwich. */
export function zoneFor(name) {
  if (name === undefined) return LOCAL;
  const text = `${name}`;
  if (UTC_NAMES.test(text)) return { name: 'UTC', offset: () => 0 };
  const match = OFFSET.exec(text);
  if (match) {
    const minutes = (match[1] === '-' ? -1 : 1) * (Number(match[2]) * 60 + Number(match[3] ?? 0));
    return { name: `${match[1]}${match[2]}:${match[3] ?? '00'}`, offset: () => minutes };
  }
  if (/^[a-z_]+(\/[a-z_+\-0-9]+)+$/i.test(text)) {
    throw new RangeError(`Invalid time zone specified: ${text} (the sandbox knows UTC, fixed offsets and the local zone only)`);
  }
  throw new RangeError(`Invalid time zone specified: ${text}`);
}

const LOCAL = {
  get name() {
    return new Date().getTimezoneOffset() === 0 ? 'UTC' : process.env.TZ;
  },
  offset: (time) => -new Date(time).getTimezoneOffset(),
};

/** `UTC`, `GMT+2`; long: `Coordinated Universal Time`, `GMT+02:00`. */
export function zoneText(zone, time, long) {
  const minutes = zone.offset(time);
  if (minutes === 0 && zone.name === 'UTC') return long ? 'Coordinated Universal Time' : 'UTC';
  const sign = minutes < 0 ? '-' : '+';
  const hours = Math.floor(Math.abs(minutes) / 60);
  const rest = Math.abs(minutes) % 60;
  const two = (number) => `${number}`.padStart(2, '0');
  return long ? `GMT${sign}${two(hours)}:${two(rest)}` : `GMT${sign}${hours}${rest ? `:${two(rest)}` : ''}`;
}
