// Intl, which the engine lacks: English, with the numbers and numeric dates of some other languages.

import { binding } from '../internal/binding.js';
import { notImplemented } from '../internal/errors.js';
import { collation, Collator, compareTexts } from './intl/collator.js';
import { DateTimeFormat, localeDate } from './intl/date_time_format.js';
import { canonicalList, Locale } from './intl/locales.js';
import { NumberFormat } from './intl/number_format.js';
import { ListFormat, PluralRules, RelativeTimeFormat, Segmenter } from './intl/words.js';
import { localName } from './intl/zones.js';

/** NumberFormat, DateTimeFormat and Collator may be called without `new`. */
function callable(Class) {
  const made = {
    [Class.name]: function (locales, options) {
      return new Class(locales, options);
    },
  }[Class.name];
  made.prototype = Class.prototype;
  Object.defineProperty(made, 'prototype', { writable: false });
  Object.defineProperty(Class.prototype, 'constructor', { value: made, writable: true, configurable: true });
  Object.defineProperty(made, 'supportedLocalesOf', { value: Class.supportedLocalesOf, writable: true, configurable: true });
  return made;
}

const absent = (name) =>
  ({
    [name]: class {
      constructor() {
        throw notImplemented(`Intl.${name}`, 'the sandbox speaks English only');
      }
    },
  })[name];

function supportedValuesOf(key) {
  const known = {
    calendar: ['gregory'],
    collation: ['default'],
    currency: ['CNY', 'EUR', 'GBP', 'JPY', 'USD'],
    numberingSystem: ['latn'],
    timeZone: binding.zoneList(),
    unit: ['day', 'hour', 'minute', 'second'],
  };
  if (!Object.hasOwn(known, key)) throw new RangeError(`Invalid key : ${key}`);
  return known[key];
}

function hidden(target, values) {
  for (const [name, value] of Object.entries(values))
    Object.defineProperty(target, name, { value, writable: true, enumerable: false, configurable: true });
}

function tagged(Class, tag) {
  Object.defineProperty(Class.prototype, Symbol.toStringTag, { value: tag, configurable: true });
}

const dateText = Date.prototype.toString;
const { getTime } = Date.prototype;
const timeText = Date.prototype.toTimeString;
const collators = new Map();

/** The engine leaves out the zone's name. */
function withZone(text, date) {
  if (text === 'Invalid Date') return text;
  return `${text} (${localName(getTime.call(date))})`;
}

const methods = {
  date: {
    toString() {
      return withZone(Reflect.apply(dateText, this, []), this);
    },
    toTimeString() {
      return withZone(Reflect.apply(timeText, this, []), this);
    },
    toLocaleString(locales = undefined, options = undefined) {
      return localeDate(this, locales, options, 'any');
    },
    toLocaleDateString(locales = undefined, options = undefined) {
      return localeDate(this, locales, options, 'date');
    },
    toLocaleTimeString(locales = undefined, options = undefined) {
      return localeDate(this, locales, options, 'time');
    },
  },
  number: {
    toLocaleString(locales = undefined, options = undefined) {
      return new NumberFormat(locales, options).format(Number.prototype.valueOf.call(this));
    },
  },
  bigint: {
    toLocaleString(locales = undefined, options = undefined) {
      return new NumberFormat(locales, options).format(BigInt.prototype.valueOf.call(this));
    },
  },
  string: {
    localeCompare(that, locales = undefined, options = undefined) {
      let own = options === undefined ? collators.get(locales) : undefined;
      if (own === undefined) {
        own = collation(locales, options);
        if (options === undefined && (locales === undefined || typeof locales === 'string')) collators.set(locales, own);
      }
      return compareTexts(`${this}`, `${that}`, own);
    },
  },
};

export function installIntl() {
  const Intl = {};
  hidden(Intl, {
    getCanonicalLocales: (locales) => canonicalList(locales),
    supportedValuesOf,
    Collator: callable(Collator),
    DateTimeFormat: callable(DateTimeFormat),
    NumberFormat: callable(NumberFormat),
    PluralRules,
    RelativeTimeFormat,
    ListFormat,
    Locale,
    Segmenter,
    DisplayNames: absent('DisplayNames'),
    DurationFormat: absent('DurationFormat'),
  });
  for (const name of ['Collator', 'DateTimeFormat', 'NumberFormat', 'PluralRules', 'RelativeTimeFormat', 'ListFormat', 'Locale', 'Segmenter'])
    tagged(Intl[name], `Intl.${name}`);
  Object.defineProperty(Intl, Symbol.toStringTag, { value: 'Intl', configurable: true });
  hidden(globalThis, { Intl });
  hidden(Date.prototype, methods.date);
  hidden(Number.prototype, methods.number);
  hidden(BigInt.prototype, methods.bigint);
  hidden(String.prototype, methods.string);
}
