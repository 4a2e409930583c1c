// Time zones as the engine knows them: the run's own, which is what Date's local methods say, those of the world by name,
// and fixed offsets.

import { binding } from '../../internal/binding.js';
import process from '../../modules/process.js';

const UTC_NAMES = /^(etc\/)?(utc|gmt|gmt0|gmt[+-]0|uct|universal|greenwich|zulu)$/i;
const OFFSET = /^([+-])([01]\d|2[0-3])(?::?([0-5]\d))?$/;
// Where a signed number of seconds since 1970 ends: V8 asks for a zone's name in a like year within.
const NAMED_TO = 2147483647000;

/** `{ name, at(time) }`; `at` says `{ offset, date, long, short }`, the offset in seconds east of Greenwich. */
export function zoneFor(name) {
  if (name === undefined) return localZone();
  const text = `${name}`;
  if (UTC_NAMES.test(text)) return numbered(binding.findZone('UTC'));
  const match = OFFSET.exec(text);
  if (match) {
    const offset = (match[1] === '-' ? -1 : 1) * (Number(match[2]) * 3600 + Number(match[3] ?? 0) * 60);
    const at = offset === 0 ? { offset, long: 'Greenwich Mean Time', short: 'GMT' } : { offset };
    return { name: `${match[1]}${match[2]}:${match[3] ?? '00'}`, generic: [], at: () => at };
  }
  const number = binding.findZone(text);
  if (number < 0) throw new RangeError(`Invalid time zone specified: ${text}`);
  return numbered(number);
}

function numbered(number) {
  const [name, ...generic] = binding.zoneNames(number);
  return {
    name,
    generic,
    at(time) {
      const [offset, date, long, short] = binding.zoneAt(number, time);
      return { offset, date, long, short };
    },
  };
}

function localZone() {
  const zone = numbered(binding.findZone(undefined));
  // Node has no name for a zone that nobody knows.
  return zone.name === undefined && process.env.TZ === '' ? { ...zone, name: 'Etc/Unknown' } : zone;
}

const two = (number) => `${number}`.padStart(2, '0');

/** `GMT+2`, `GMT-3:30`; long: `GMT+02:00`. */
function offsetText(offset, isLong) {
  const size = Math.abs(offset);
  const [hours, minutes, seconds] = [Math.floor(size / 3600), Math.floor(size / 60) % 60, size % 60];
  const tail = seconds ? `:${two(minutes)}:${two(seconds)}` : isLong || minutes ? `:${two(minutes)}` : '';
  return `GMT${offset < 0 ? '-' : '+'}${isLong ? two(hours) : hours}${tail}`;
}

/** What the zone is called at a time, in one of the styles of `timeZoneName`. */
export function zoneText(zone, time, style) {
  const { offset, long, short } = zone.at(time);
  const isLong = style.startsWith('long');
  const named = { long, short, longGeneric: zone.generic[0], shortGeneric: zone.generic[1] }[style];
  return named ?? offsetText(offset, isLong);
}

const isLeap = (year) => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);

/** What `Date` calls the local zone: the name of the same day in a year from 2008 to 2037 that begins alike. */
export function localName(time) {
  let asked = time;
  if (time < 0 || time > NAMED_TO) {
    const date = new Date(time);
    const year = date.getUTCFullYear();
    const first = new Date(0);
    first.setUTCFullYear(year, 0, 1);
    const recent = (isLeap(year) ? 1956 : 1967) + ((first.getUTCDay() * 12) % 28);
    asked = date.setUTCFullYear(2008 + ((recent + 3 * 28 - 2008) % 28));
  }
  const { offset, date } = localZone().at(asked);
  return date ?? offsetText(offset, true);
}
