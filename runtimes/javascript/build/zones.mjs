// Packs the world's time zones into tables for the engine.
// usage: node zones.mjs TZDATA HEADER   (TZDATA is the folder of the `tzdata` package)
//
// When a zone's clocks changed, and the rule they follow from then on, come from `tzdata`; what a zone is called at a
// time, and which name is the usual one, only CLDR knows: Node is asked, once, here.

import fs from 'node:fs';
import path from 'node:path';

const [tzdata, header] = process.argv.slice(2);
// Zones have no names of their own before 1970, and none changed its name after this without a change of its clocks.
const NAMED_FROM = 0;
const NAMED_TO = Date.UTC(2040, 0, 1) / 1000;
const STEP = 60 * 86400;

/** `{ starts, offsets, rule }` of a TZif file; `starts[0]` is the beginning of time. */
function readZone(file) {
  const bytes = fs.readFileSync(file);
  const counts = (at) => Array.from({ length: 6 }, (_, i) => bytes.readUInt32BE(at + 20 + 4 * i));
  // The block with times in four bytes comes first: it is for older readers.
  const [utc, std, leaps, times, types, letters] = counts(0);
  let at = 44 + times * 5 + types * 6 + letters + leaps * 8 + std + utc;
  const [utc2, std2, leaps2, times2, types2, letters2] = counts(at);
  at += 44;
  const typesAt = at + times2 * 9;
  const offset = (type) => bytes.readInt32BE(typesAt + 6 * type);
  const starts = [-Infinity];
  const offsets = [offset(0)];
  for (let i = 0; i < times2; i++) {
    starts.push(Number(bytes.readBigInt64BE(at + 8 * i)));
    offsets.push(offset(bytes[at + times2 * 8 + i]));
  }
  const footer = typesAt + types2 * 6 + letters2 + leaps2 * 12 + std2 + utc2;
  return { starts, offsets, rule: readRule(bytes.toString('latin1', footer).trim()) };
}

/** `CET-1CEST,M3.5.0,M10.5.0/3`, or undefined where the clocks stay as they are. */
function readRule(text) {
  const seconds = (time) => {
    const [, sign, hours, minutes = 0, rest = 0] = /^([+-]?)(\d+)(?::(\d+))?(?::(\d+))?$/.exec(time);
    return (sign === '-' ? -1 : 1) * (hours * 3600 + minutes * 60 + Number(rest));
  };
  const clock = String.raw`(?:<[^>]+>|[A-Za-z]+)`;
  const match = new RegExp(`^${clock}([-+:\\d]+)(?:${clock}([-+:\\d]*),(.*),(.*))?$`).exec(text);
  if (!match) throw new Error(`not a rule: ${text}`);
  const [, usual, other, begin, end] = match;
  if (begin === undefined) return undefined;
  const day = (given) => {
    const parts = /^M(\d+)\.(\d)\.(\d)(?:\/(.+))?$/.exec(given);
    if (!parts) throw new Error(`not a day of a rule: ${text}`);
    return [Number(parts[1]), Number(parts[2]), Number(parts[3]), parts[4] === undefined ? 7200 : seconds(parts[4])];
  };
  const east = -seconds(usual);
  return { offsets: [east, other ? -seconds(other) : east + 3600], days: [day(begin), day(end)] };
}

const texts = [''];
const textNumbers = new Map([['', 0]]);
function textNumber(text) {
  if (!textNumbers.has(text)) textNumbers.set(text, texts.push(text) - 1);
  return textNumbers.get(text);
}

const two = (number) => `${number}`.padStart(2, '0');
function offsetText(offset, long) {
  const size = Math.abs(offset);
  const [hours, minutes, seconds] = [Math.floor(size / 3600), Math.floor(size / 60) % 60, size % 60];
  const tail = seconds ? `:${two(minutes)}:${two(seconds)}` : long || minutes ? `:${two(minutes)}` : '';
  return `GMT${offset < 0 ? '-' : '+'}${long ? two(hours) : hours}${tail}`;
}

/** What Node calls the zone at a time, and in which offset: `''` where it only says the offset. */
function naming(name) {
  process.env.TZ = name;
  const formats = ['long', 'short'].map((timeZoneName) => new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName }));
  return (time, offset) => {
    const date = new Date(time * 1000);
    const shown = [/\((.*)\)$/.exec(date.toString())[1]];
    for (const format of formats) shown.push(format.formatToParts(date).at(-1).value);
    return shown.map((text, i) => (text === offsetText(offset, i < 2) ? 0 : textNumber(text)));
  };
}

/** The same with a name for every stretch of time. */
function nameZone(name, { starts, offsets, rule }) {
  const namesAt = naming(name);
  const stretches = [];
  const add = (start, offset, names, always = false) => {
    const key = [offset, ...names].join();
    if (always || stretches.at(-1)?.key !== key) stretches.push({ start, key });
  };
  for (let i = 0; i < starts.length; i++) {
    const [start, end, offset] = [starts[i], starts[i + 1] ?? Infinity, offsets[i]];
    let last = Math.max(start, -1e10);
    let names = namesAt(last, offset);
    // The last one is where the rule begins.
    const isRuled = rule !== undefined && i === starts.length - 1;
    add(start, offset, names, isRuled);
    if (isRuled) continue;
    for (let time = Math.max(last, NAMED_FROM); time < Math.min(end, NAMED_TO); time += STEP) {
      while (`${namesAt(time, offset)}` !== `${names}`) {
        let high = time;
        while (high - last > 1) {
          const middle = Math.floor((last + high) / 2);
          if (`${namesAt(middle, offset)}` === `${names}`) last = middle;
          else high = middle;
        }
        last = high;
        names = namesAt(high, offset);
        add(high, offset, names);
      }
      last = time;
    }
  }
  let tail;
  if (rule) {
    // In the middle of each part of a year that the clocks are ruled in: the last but one that Node names as it is.
    const months = rule.days.map(([month]) => month);
    const middle = (from, to) => Date.UTC(2036, from - 1 + ((to - from + 12) % 12) / 2, 15) / 1000;
    const keys = [
      [rule.offsets[0], ...namesAt(middle(months[1], months[0]), rule.offsets[0])].join(),
      [rule.offsets[1], ...namesAt(middle(months[0], months[1]), rule.offsets[1])].join(),
    ];
    tail = { keys, days: rule.days };
  }
  const generic = ['longGeneric', 'shortGeneric'].map((timeZoneName) => {
    const text = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName }).formatToParts(Date.UTC(2026, 0, 15)).at(-1).value;
    return text.startsWith('GMT') && text !== 'GMT' ? 0 : textNumber(text);
  });
  return { stretches, tail, generic };
}

const names = fs.readFileSync(path.join(tzdata, 'zones'), 'utf8').split(/\s+/).filter(Boolean);
const listed = new Set(['UTC', ...Intl.supportedValuesOf('timeZone')]);
const types = [];
const typeNumbers = new Map();
const starts = [];
const kinds = [];
const rules = [];
const zones = [];
const zoneNumbers = new Map();
const entries = [];

function typeNumber(key) {
  if (!typeNumbers.has(key)) typeNumbers.set(key, types.push(key) - 1);
  return typeNumbers.get(key);
}

for (const name of names) {
  let usual;
  try {
    usual = new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    continue; // `Factory`, and what is newer than the Node that is asked.
  }
  const { stretches, tail, generic } = nameZone(name, readZone(path.join(tzdata, 'zoneinfo', name)));
  const key = JSON.stringify([stretches.map(({ start, key }) => [`${start}`, key]), tail, generic]);
  if (!zoneNumbers.has(key)) {
    const first = starts.length;
    for (const stretch of stretches) {
      starts.push(stretch.start);
      kinds.push(typeNumber(stretch.key));
    }
    let rule = -1;
    if (tail) rule = rules.push(`{ { ${tail.keys.map(typeNumber)} }, { ${tail.days.map((day) => `{ ${day} }`)} } }`) - 1;
    zoneNumbers.set(key, zones.push(`{ ${first}, ${stretches.length}, ${rule}, { ${generic} } }`) - 1);
  }
  entries.push(`{ ${JSON.stringify(name)}, ${zoneNumbers.get(key)}, ${textNumber(usual)}, ${listed.has(name)} }`);
}

const table = (type, name, values) => `static const ${type} ${name}[] = {\n${values.map((value) => `    ${value},\n`).join('')}};\n`;
// The beginning of time is before every time that a Date can tell.
const moments = starts.map((start) => (start === -Infinity ? 'INT64_MIN' : `INT64_C(${start})`));
fs.writeFileSync(
  header,
  `/* Made by zones.mjs. */\n${table('char *const', 'zone_texts', texts.map((text) => JSON.stringify(text)))}${table('struct zone_type', 'zone_types', types.map((key) => `{ ${key} }`))}${table('int64_t', 'zone_starts', moments)}${table('uint16_t', 'zone_kinds', kinds)}${table('struct zone_rule', 'zone_rules', rules)}${table('struct zone', 'zones', zones)}${table('struct zone_name', 'zone_names', entries)}`,
);
