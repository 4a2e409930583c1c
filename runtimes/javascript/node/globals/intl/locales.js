// The locales that Intl knows here: English in full, the numbers and numeric dates of some others.

const NARROW = '\u202f';
const NBSP = '\xa0';

// group, decimal, then what stands between number and unit; `min2` groups only from five digits on; `lakh` is India's way.
const point = { group: ',', decimal: '.', percent: '', currency: 'before' };
const comma = { group: '.', decimal: ',', percent: NBSP, currency: 'after' };
const spaced = { group: NBSP, decimal: ',', percent: NBSP, currency: 'after' };

// Dollars and yen are marked where they are foreign.
const ABROAD = { USD: 'US$', JPY: 'JP¥' };

// The numeric date as a pattern; `MM` and `DD` always have two digits in a whole date.
const LOCALES = {
  'en-US': { numbers: point, date: 'M/D/Y', hour12: true },
  'en-GB': { numbers: point, date: 'DD/MM/Y', hour12: false, dayFirst: true, symbols: ABROAD },
  'en-CA': { numbers: point, date: 'Y-MM-DD', hour12: true, periods: ['a.m.', 'p.m.'], symbols: { ...ABROAD, CAD: '$' } },
  'en-AU': {
    numbers: point,
    date: 'DD/MM/Y',
    hour12: true,
    periods: ['am', 'pm'],
    dayFirst: true,
    symbols: { USD: 'USD', EUR: 'EUR', GBP: 'GBP', JPY: 'JPY', INR: 'INR', CAD: 'CAD', AUD: '$' },
  },
  'en-NZ': { numbers: point, date: 'D/MM/Y', hour12: true, periods: ['am', 'pm'], dayFirst: true, symbols: { ...ABROAD, NZD: '$' } },
  'en-IE': { numbers: point, date: 'D/M/Y', hour12: false, dayFirst: true, symbols: ABROAD },
  'en-IN': { numbers: { ...point, lakh: true }, date: 'D/M/Y', hour12: true, periods: ['am', 'pm'], dayFirst: true, symbols: { JPY: 'JP¥' } },
  'en-ZA': { numbers: { ...point, group: NBSP, decimal: ',' }, date: 'Y/MM/DD', hour12: false, dayFirst: true },
  'sv-SE': { numbers: spaced, date: 'Y-MM-DD', hour12: false, join: ' ', symbols: { USD: 'US$', GBP: 'GBP', JPY: 'JPY', INR: 'INR', SEK: 'kr' } },
  'de-DE': { numbers: comma, date: 'D.M.Y', hour12: false },
  'de-AT': { numbers: { ...comma, group: NBSP, currency: 'spaced' }, date: 'D.M.Y', hour12: false },
  'de-CH': { numbers: { ...point, group: '’', currency: 'spaced' }, date: 'D.M.Y', hour12: false },
  'fr-FR': {
    numbers: { ...spaced, group: NARROW },
    date: 'DD/MM/Y',
    hour12: false,
    join: ' ',
    symbols: { USD: '$US', GBP: '£GB', JPY: 'JPY', CAD: '$CA' },
  },
  'es-ES': {
    numbers: { ...comma, min2: true },
    date: 'D/M/Y',
    hour12: false,
    symbols: { USD: 'US$', GBP: 'GBP', JPY: 'JPY', INR: 'INR', CAD: 'CAD' },
  },
  'it-IT': { numbers: { ...comma, percent: '', min2: true }, date: 'DD/MM/Y', hour12: false, symbols: { USD: 'USD', JPY: 'JPY', INR: 'INR' } },
  'pt-BR': { numbers: { ...comma, percent: '', currency: 'spaced' }, date: 'DD/MM/Y', hour12: false, symbols: ABROAD },
  'pt-PT': { numbers: { ...spaced, percent: '', min2: true }, date: 'DD/MM/Y', hour12: false },
  'nl-NL': { numbers: { ...comma, percent: '', currency: 'spaced' }, date: 'D-M-Y', hour12: false, symbols: { ...ABROAD, CAD: 'C$' } },
  'da-DK': { numbers: comma, date: 'D.M.Y', hour12: false, join: ' ', timeSeparator: '.' },
  'pl-PL': { numbers: { ...spaced, percent: '', min2: true }, date: 'DD.MM.Y', hour12: false },
  'ru-RU': { numbers: spaced, date: 'DD.MM.Y', hour12: false },
  'ja-JP': { numbers: point, date: 'Y/M/D', hour12: false, join: ' ', symbols: { JPY: '￥' } },
  'zh-CN': { numbers: point, date: 'Y/M/D', hour12: false, join: ' ' },
};

const DEFAULTS = {
  en: 'en-US',
  sv: 'sv-SE',
  de: 'de-DE',
  fr: 'fr-FR',
  es: 'es-ES',
  it: 'it-IT',
  pt: 'pt-BR',
  nl: 'nl-NL',
  da: 'da-DK',
  pl: 'pl-PL',
  ru: 'ru-RU',
  ja: 'ja-JP',
  zh: 'zh-CN',
};

const TAG = /^([a-z]{2,3}|[a-z]{5,8})(?:-([a-z]{4}))?(?:-([a-z]{2}|\d{3}))?((?:-[a-z0-9]{2,8}|-[a-z0-9]-[a-z0-9-]+)*)$/i;

/** The tag in its usual spelling: `en-US`, `zh-Hans-CN`. */
export function canonical(tag) {
  if (typeof tag !== 'string' && (typeof tag !== 'object' || tag === null)) throw new TypeError('Incorrect locale information provided');
  const text = `${tag}`;
  const match = TAG.exec(text);
  if (!match) throw new RangeError(`Incorrect locale information provided`);
  const [, language, script, region, rest] = match;
  return (
    [language.toLowerCase(), script && script[0].toUpperCase() + script.slice(1).toLowerCase(), region?.toUpperCase()].filter(Boolean).join('-') +
    rest.toLowerCase()
  );
}

export function canonicalList(locales) {
  if (locales === undefined) return [];
  if (locales === null) throw new TypeError('Cannot convert undefined or null to object');
  const list = typeof locales === 'string' || locales instanceof Locale ? [locales] : Array.from(locales);
  return [...new Set(list.map(canonical))];
}

/** Without extensions, and without script. */
const plain = (tag) => tag.replace(/-(?:[a-z0-9]-|x-).*$/, '').replace(/-[A-Z][a-z]{3}/, '');

const isKnown = (tag) => plain(tag) in LOCALES || plain(tag).split('-')[0] in DEFAULTS;

/** The first of the wanted locales that is known, and what is known of it; English if none is. */
export function resolve(locales) {
  const found = canonicalList(locales).find(isKnown);
  if (found === undefined) return { locale: 'en-US', data: LOCALES['en-US'], language: 'en' };
  const tag = plain(found);
  const [language] = tag.split('-');
  const data = LOCALES[tag] ?? LOCALES[DEFAULTS[language]];
  return { locale: tag, data, language };
}

export function supportedLocalesOf(locales) {
  return canonicalList(locales).filter(isKnown);
}

export class Locale {
  #tag;

  constructor(tag, options = {}) {
    if (typeof tag !== 'string' && !(tag instanceof Locale))
      throw new TypeError("First argument to Intl.Locale constructor can't be empty or missing");
    const [language, ...rest] = canonical(tag).split('-');
    this.#tag = canonical([options.language ?? language, ...rest].join('-'));
    if (options.region) this.#tag = canonical(`${this.#tag.replace(/-([A-Z]{2}|\d{3})(?=-|$)/, '')}-${options.region}`);
  }

  get baseName() {
    return this.#tag.replace(/-[a-z0-9]-.*$/, '');
  }

  get language() {
    return this.#tag.split('-')[0];
  }

  get script() {
    return /-([A-Z][a-z]{3})(?=-|$)/.exec(this.#tag)?.[1];
  }

  get region() {
    return /-([A-Z]{2}|\d{3})(?=-|$)/.exec(this.#tag)?.[1];
  }

  toString() {
    return this.#tag;
  }
}
