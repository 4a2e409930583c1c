// Intl.DateTimeFormat, in English; other locales for dates and times in numbers.

import { resolve, supportedLocalesOf } from './locales.js';
import { zoneFor, zoneText } from './zones.js';

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];
const DATE_FIELDS = ['weekday', 'year', 'month', 'day'];
const TIME_FIELDS = ['dayPeriod', 'hour', 'minute', 'second', 'fractionalSecondDigits'];
const VALUES = {
  weekday: ['narrow', 'short', 'long'],
  era: ['narrow', 'short', 'long'],
  year: ['2-digit', 'numeric'],
  month: ['2-digit', 'numeric', 'narrow', 'short', 'long'],
  day: ['2-digit', 'numeric'],
  dayPeriod: ['narrow', 'short', 'long'],
  hour: ['2-digit', 'numeric'],
  minute: ['2-digit', 'numeric'],
  second: ['2-digit', 'numeric'],
  timeZoneName: ['short', 'long', 'shortOffset', 'longOffset', 'shortGeneric', 'longGeneric'],
  dateStyle: ['full', 'long', 'medium', 'short'],
  timeStyle: ['full', 'long', 'medium', 'short'],
  hourCycle: ['h11', 'h12', 'h23', 'h24'],
};

const DATE_STYLES = {
  full: { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' },
  long: { year: 'numeric', month: 'long', day: 'numeric' },
  medium: { year: 'numeric', month: 'short', day: 'numeric' },
  short: { year: '2-digit', month: 'numeric', day: 'numeric' },
};
const TIME_STYLES = {
  full: { hour: 'numeric', minute: '2-digit', second: '2-digit', timeZoneName: 'long' },
  long: { hour: 'numeric', minute: '2-digit', second: '2-digit', timeZoneName: 'short' },
  medium: { hour: 'numeric', minute: '2-digit', second: '2-digit' },
  short: { hour: 'numeric', minute: '2-digit' },
};

const two = (number) => `${number}`.padStart(2, '0');
const literal = (value) => ({ type: 'literal', value });
const isText = (month) => month === 'long' || month === 'short' || month === 'narrow';

function readOptions(locales, options, required, defaults) {
  if (options === null) throw new TypeError('Cannot convert undefined or null to object');
  const given = Object(options ?? {});
  const own = { ...resolve(locales), zone: zoneFor(given.timeZone), fields: {} };
  for (const [name, allowed] of Object.entries(VALUES)) {
    if (given[name] === undefined) continue;
    if (!allowed.includes(`${given[name]}`))
      throw new RangeError(`Value ${given[name]} out of range for Intl.DateTimeFormat options property ${name}`);
    own.fields[name] = `${given[name]}`;
  }
  if (given.fractionalSecondDigits !== undefined) own.fields.fractionalSecondDigits = Number(given.fractionalSecondDigits);
  const { fields } = own;
  const { dateStyle, timeStyle } = fields;
  const explicit = [...DATE_FIELDS, ...TIME_FIELDS, 'timeZoneName'].find((name) => fields[name] !== undefined);
  if (dateStyle || timeStyle) {
    if (explicit) throw new TypeError(`Can't set option ${explicit} when ${dateStyle ? 'dateStyle' : 'timeStyle'} is used`);
    if (required === 'date' && timeStyle) throw new TypeError('Invalid option : timeStyle');
    if (required === 'time' && dateStyle) throw new TypeError('Invalid option : dateStyle');
    own.dateStyle = dateStyle;
    own.timeStyle = timeStyle;
    Object.assign(fields, DATE_STYLES[dateStyle], TIME_STYLES[timeStyle]);
  } else {
    const wanted = { date: DATE_FIELDS, time: TIME_FIELDS, any: [...DATE_FIELDS, ...TIME_FIELDS] }[required];
    if (!wanted.some((name) => fields[name] !== undefined)) {
      if (defaults !== 'time') Object.assign(fields, { year: 'numeric', month: 'numeric', day: 'numeric' });
      if (defaults !== 'date') Object.assign(fields, { hour: 'numeric', minute: 'numeric', second: 'numeric' });
      own.isDefault = true;
    }
  }
  if (fields.hour !== undefined) {
    own.hour12 = given.hour12 ?? (fields.hourCycle ? /h1[12]/.test(fields.hourCycle) : own.data.hour12);
    own.hourCycle = given.hour12 === undefined && fields.hourCycle ? fields.hourCycle : own.hour12 ? 'h12' : 'h23';
  }
  return own;
}

/** The time's fields on the clock of the zone. */
function fieldsOf(time, zone) {
  const wall = time + zone.at(time).offset * 1000;
  // At either end of what a Date can tell the calendar of 400 years towards the middle is the same one.
  const shift = Math.abs(wall) > 8.64e15 ? 400 * Math.sign(wall) : 0;
  const date = new Date(wall - (shift / 400) * 146097 * 86400000);
  return {
    year: date.getUTCFullYear() + shift,
    month: date.getUTCMonth(),
    day: date.getUTCDate(),
    weekday: date.getUTCDay(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
    millisecond: date.getUTCMilliseconds(),
  };
}

const named = (name, style) => (style === 'long' ? name : style === 'short' ? name.slice(0, 3) : name[0]);

function yearPart({ fields }, at) {
  return {
    type: 'year',
    value: fields.year === '2-digit' ? two(((at.year % 100) + 100) % 100) : `${fields.era && at.year <= 0 ? 1 - at.year : at.year}`,
  };
}

function joinParts(parts, separator) {
  return parts.flatMap((part, index) => (index === 0 ? [part] : [literal(separator), part]));
}

/** Numbers in the locale's order and with its signs. */
function numericDate(own, at) {
  const { fields, data } = own;
  const separator = /[^A-Z]/.exec(data.date)[0];
  const order = data.date.split(separator);
  const parts = [];
  for (const item of order) {
    const whole = item.length === 2 && fields.year && fields.month && fields.day;
    if (item[0] === 'Y' && fields.year) parts.push(yearPart(own, at));
    if (item[0] === 'M' && fields.month)
      parts.push({ type: 'month', value: fields.month === '2-digit' || whole ? two(at.month + 1) : `${at.month + 1}` });
    if (item[0] === 'D' && fields.day) parts.push({ type: 'day', value: fields.day === '2-digit' || whole ? two(at.day) : `${at.day}` });
  }
  if (parts.length === 2 && fields.year && fields.day)
    return [yearPart(own, at), literal(' (day: '), { type: 'day', value: `${at.day}` }, literal(')')];
  return joinParts(parts, separator);
}

function textDate(own, at) {
  const { fields, data } = own;
  const month = { type: 'month', value: named(MONTHS[at.month], fields.month) };
  const day = fields.day && { type: 'day', value: fields.day === '2-digit' ? two(at.day) : `${at.day}` };
  const year = fields.year && yearPart(own, at);
  if (data.dayFirst) return joinParts([day, month, year].filter(Boolean), ' ');
  if (!day) return joinParts([month, year].filter(Boolean), ' ');
  return [month, literal(' '), day, ...(year ? [literal(', '), year] : [])];
}

function dateParts(own, at) {
  const { fields } = own;
  const hasNumbers = fields.year || fields.month || fields.day;
  const weekday = fields.weekday && { type: 'weekday', value: named(WEEKDAYS[at.weekday], fields.weekday) };
  let parts = !hasNumbers ? [] : isText(fields.month) ? textDate(own, at) : numericDate(own, at);
  if (fields.era)
    parts = [
      ...parts,
      literal(' '),
      {
        type: 'era',
        value:
          at.year > 0
            ? { long: 'Anno Domini', short: 'AD', narrow: 'A' }[fields.era]
            : { long: 'Before Christ', short: 'BC', narrow: 'B' }[fields.era],
      },
    ];
  if (!weekday) return parts;
  if (parts.length === 0) return [weekday];
  if (!fields.day || (!fields.month && !fields.year)) return [...parts, literal(' '), weekday];
  return [weekday, literal(own.data.dayFirst && isText(fields.month) ? ' ' : ', '), ...parts];
}

function dayPeriod(at, style) {
  if (at.hour < 6 || at.hour >= 21) return 'at night';
  if (at.hour < 12) return 'in the morning';
  if (at.hour === 12 && at.minute === 0) return style === 'narrow' ? 'n' : 'noon';
  return at.hour < 18 ? 'in the afternoon' : 'in the evening';
}

function timeParts(own, at) {
  const { fields, data } = own;
  const parts = [];
  const separator = data.timeSeparator ?? ':';
  const several = [fields.hour, fields.minute, fields.second].filter(Boolean).length > 1;
  if (fields.hour) {
    const hour = { h11: at.hour % 12, h12: at.hour % 12 || 12, h23: at.hour, h24: at.hour || 24 }[own.hourCycle];
    const padded = fields.hour === '2-digit' || !own.hour12;
    parts.push({ type: 'hour', value: padded ? two(hour) : `${hour}` });
  }
  if (fields.minute) parts.push({ type: 'minute', value: several ? two(at.minute) : `${at.minute}` });
  if (fields.second) parts.push({ type: 'second', value: several ? two(at.second) : `${at.second}` });
  let made = joinParts(parts, separator);
  if (fields.fractionalSecondDigits) {
    const fraction = { type: 'fractionalSecond', value: `${at.millisecond}`.padStart(3, '0').slice(0, fields.fractionalSecondDigits) };
    made = made.length === 0 ? [fraction] : [...made, literal('.'), fraction];
  }
  if (fields.hour && own.hour12) {
    const [am, pm] = data.periods ?? ['AM', 'PM'];
    const period = fields.dayPeriod ? dayPeriod(at, fields.dayPeriod) : at.hour < 12 ? am : pm;
    made.push(literal(' '), { type: 'dayPeriod', value: period });
  } else if (fields.dayPeriod && !fields.hour) {
    made.push({ type: 'dayPeriod', value: dayPeriod(at, fields.dayPeriod) });
  }
  return made;
}

function formatToParts(own, value) {
  const time = value === undefined ? Date.now() : Number(value);
  if (Number.isNaN(time) || Math.abs(time) > 8.64e15) throw new RangeError('Invalid time value');
  const at = fieldsOf(time, own.zone);
  const { fields } = own;
  // Names of months and days are only known in English.
  const english = own.language === 'en' || !(fields.weekday || isText(fields.month));
  const used = english ? own : { ...own, data: resolve('en-US').data };
  const date = dateParts(used, at);
  const clock = timeParts(used, at);
  let between = used.data.join ?? ', ';
  if (fields.month === 'long') between = ' at ';
  else if (fields.weekday && !fields.month && !fields.year && !fields.day) between = ' ';
  let parts = date.length && clock.length ? [...date, literal(between), ...clock] : [...date, ...clock];
  if (fields.timeZoneName) {
    const name = { type: 'timeZoneName', value: zoneText(own.zone, time, fields.timeZoneName) };
    const lead = parts.length === 0 ? [] : [literal(clock.length === 0 ? ', ' : ' ')];
    parts = [...parts, ...lead, name];
  }
  return parts;
}

export class DateTimeFormat {
  #own;
  #format;

  constructor(locales = undefined, options = undefined) {
    this.#own = readOptions(locales, options, 'any', 'date');
  }

  static supportedLocalesOf(locales) {
    return supportedLocalesOf(locales);
  }

  get format() {
    return (this.#format ??= Object.defineProperty(
      (date) =>
        formatToParts(this.#own, date)
          .map((part) => part.value)
          .join(''),
      'name',
      { value: '' },
    ));
  }

  formatToParts(date) {
    return formatToParts(this.#own, date);
  }

  formatRange(start, end) {
    const first = this.format(start);
    const last = this.format(end);
    return first === last ? first : `${first} – ${last}`;
  }

  resolvedOptions() {
    const { locale, zone, fields, hourCycle, hour12, dateStyle, timeStyle } = this.#own;
    const shown = { locale, calendar: 'gregory', numberingSystem: 'latn', timeZone: zone.name };
    if (fields.hour !== undefined) Object.assign(shown, { hourCycle, hour12: Boolean(hour12) });
    if (dateStyle || timeStyle) return { ...shown, ...(dateStyle && { dateStyle }), ...(timeStyle && { timeStyle }) };
    for (const name of [
      'weekday',
      'era',
      'year',
      'month',
      'day',
      'dayPeriod',
      'hour',
      'minute',
      'second',
      'fractionalSecondDigits',
      'timeZoneName',
    ]) {
      if (fields[name] === undefined) continue;
      const padded = (name === 'minute' && fields.hour !== undefined) || (name === 'second' && fields.minute !== undefined);
      shown[name] = padded ? '2-digit' : fields[name];
    }
    return shown;
  }
}

/** What Date's toLocale… methods give; `kind` is `any`, `date` or `time`. */
export function localeDate(date, locales, options, kind) {
  const time = Date.prototype.getTime.call(date);
  if (Number.isNaN(time)) return 'Invalid Date';
  const own = readOptions(locales, options, kind, kind === 'any' ? 'all' : kind);
  return formatToParts(own, time)
    .map((part) => part.value)
    .join('');
}
