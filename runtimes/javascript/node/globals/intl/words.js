// Intl.PluralRules, ListFormat, RelativeTimeFormat and Segmenter, in English.

import { resolve, supportedLocalesOf } from './locales.js';
import { NumberFormat } from './number_format.js';

class Service {
  static supportedLocalesOf(locales) {
    return supportedLocalesOf(locales);
  }
}

function pick(options, name, allowed, fallback, service) {
  const value = options?.[name];
  if (value === undefined) return fallback;
  if (!allowed.includes(`${value}`)) throw new RangeError(`Value ${value} out of range for Intl.${service} options property ${name}`);
  return `${value}`;
}

export class PluralRules extends Service {
  #own;
  #numbers;

  constructor(locales = undefined, options = undefined) {
    super();
    this.#own = { locale: resolve(locales).locale, type: pick(options, 'type', ['cardinal', 'ordinal'], 'cardinal', 'PluralRules') };
    this.#numbers = new NumberFormat(locales, { ...options, style: 'decimal' });
  }

  select(value) {
    // `1.0` is not one: what counts is how the number is written.
    const text = this.#numbers.format(Math.abs(Number(value))).replaceAll(',', '');
    if (this.#own.type === 'cardinal') return text === '1' ? 'one' : 'other';
    const [last, lastTwo] = [text.slice(-1), text.slice(-2)];
    if (!/^\d+$/.test(text)) return 'other';
    if (last === '1' && lastTwo !== '11') return 'one';
    if (last === '2' && lastTwo !== '12') return 'two';
    if (last === '3' && lastTwo !== '13') return 'few';
    return 'other';
  }

  resolvedOptions() {
    const { minimumIntegerDigits, minimumFractionDigits, maximumFractionDigits } = this.#numbers.resolvedOptions();
    const categories = this.#own.type === 'cardinal' ? ['one', 'other'] : ['few', 'one', 'two', 'other'];
    return {
      ...this.#own,
      minimumIntegerDigits,
      minimumFractionDigits,
      maximumFractionDigits,
      pluralCategories: categories,
      roundingIncrement: 1,
      roundingMode: 'halfExpand',
      roundingPriority: 'auto',
      trailingZeroDisplay: 'auto',
    };
  }
}

export class ListFormat extends Service {
  #own;

  constructor(locales = undefined, options = undefined) {
    super();
    this.#own = {
      locale: resolve(locales).locale,
      type: pick(options, 'type', ['conjunction', 'disjunction', 'unit'], 'conjunction', 'ListFormat'),
      style: pick(options, 'style', ['long', 'short', 'narrow'], 'long', 'ListFormat'),
    };
  }

  formatToParts(list) {
    const items = [...list].map((item) => {
      if (typeof item !== 'string') throw new TypeError('Iterable yielded ' + String(item) + ' which is not a string');
      return item;
    });
    const { type, style } = this.#own;
    const word = type === 'disjunction' ? 'or' : type === 'unit' ? '' : style === 'long' ? 'and' : style === 'short' ? '&' : '';
    const between = type === 'unit' && style === 'narrow' ? ' ' : ', ';
    const last = word === '' ? between : items.length === 2 ? ` ${word} ` : `, ${word} `;
    return items.flatMap((value, index) => {
      const part = { type: 'element', value };
      if (index === 0) return [part];
      return [{ type: 'literal', value: index === items.length - 1 ? last : between }, part];
    });
  }

  format(list) {
    return this.formatToParts(list)
      .map((part) => part.value)
      .join('');
  }

  resolvedOptions() {
    return { ...this.#own };
  }
}

const UNITS = ['second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'];
const SHORT_UNITS = { second: 'sec.', minute: 'min.', hour: 'hr.', day: 'day', week: 'wk.', month: 'mo.', quarter: 'qtr.', year: 'yr.' };
const NARROW_UNITS = { second: 's', minute: 'm', hour: 'h', day: 'd', week: 'w', month: 'mo', quarter: 'q', year: 'y' };
const WORDS = { second: { 0: 'now' }, day: { '-1': 'yesterday', 0: 'today', 1: 'tomorrow' } };

export class RelativeTimeFormat extends Service {
  #own;
  #numbers;

  constructor(locales = undefined, options = undefined) {
    super();
    this.#own = {
      locale: resolve(locales).locale,
      style: pick(options, 'style', ['long', 'short', 'narrow'], 'long', 'RelativeTimeFormat'),
      numeric: pick(options, 'numeric', ['always', 'auto'], 'always', 'RelativeTimeFormat'),
      numberingSystem: 'latn',
    };
    this.#numbers = new NumberFormat(locales);
  }

  #word(value, unit) {
    if (WORDS[unit]) return WORDS[unit][value];
    if (unit === 'minute' || unit === 'hour') return value === 0 ? `this ${unit}` : undefined;
    const name = this.#own.style === 'long' ? unit : SHORT_UNITS[unit];
    return { '-1': `last ${name}`, 0: `this ${name}`, 1: `next ${name}` }[value];
  }

  #unitText(text, unit) {
    const { style } = this.#own;
    if (style === 'narrow') return `${text}${NARROW_UNITS[unit]}`;
    const plural = text !== '1';
    if (style === 'long') return `${text} ${unit}${plural ? 's' : ''}`;
    const short = SHORT_UNITS[unit];
    return `${text} ${plural && unit === 'day' ? 'days' : plural && unit === 'quarter' ? 'qtrs.' : short}`;
  }

  #checkedUnit(unit) {
    const name = `${unit}`.replace(/s$/, '');
    if (!UNITS.includes(name)) throw new RangeError(`Invalid unit argument for format() '${unit}'`);
    return name;
  }

  format(value, unit) {
    const name = this.#checkedUnit(unit);
    value = Number(value);
    if (!Number.isFinite(value)) throw new RangeError('Invalid number value for format()');
    if (this.#own.numeric === 'auto') {
      const word = this.#word(Object.is(value, -0) ? 0 : value, name);
      if (word !== undefined) return word;
    }
    const text = this.#unitText(this.#numbers.format(Math.abs(value)), name);
    return value < 0 || Object.is(value, -0) ? `${text} ago` : `in ${text}`;
  }

  formatToParts(value, unit) {
    const name = this.#checkedUnit(unit);
    const text = this.format(value, unit);
    const number = this.#numbers.format(Math.abs(value));
    const at = text.indexOf(number);
    if (at === -1) return [{ type: 'literal', value: text }];
    return [
      { type: 'literal', value: text.slice(0, at) },
      ...this.#numbers.formatToParts(Math.abs(value)).map((part) => ({ ...part, unit: name })),
      { type: 'literal', value: text.slice(at + number.length) },
    ].filter((part) => part.value !== '');
  }

  resolvedOptions() {
    return { ...this.#own };
  }
}

// A character as people see it: flags, joined emoji, Hangul syllables, letters with their marks.
const GRAPHEME =
  /\r\n|\p{RI}\p{RI}|\p{Emoji}(?:\p{EMod}|\uFE0F\u20E3?|[\u{E0020}-\u{E007E}]+\u{E007F})?(?:\u200D\p{Emoji}(?:\p{EMod}|\uFE0F)?)*[\p{M}\u200D]*|[\u1100-\u115F]*[\u1160-\u11A7]*[\u11A8-\u11FF]+|[^][\p{M}\u200D\uFE00-\uFE0F]*/gu;
const WORD = /[\p{L}\p{N}_][\p{L}\p{N}\p{M}_]*(?:['’.:·][\p{L}\p{N}_][\p{L}\p{N}\p{M}_]*)*|\r\n|[^\S\r\n]+|[^]/gu;
const SENTENCE = /[^.!?\n]*(?:[.!?]+["'”’)\]]*\s*|\n|$)/gu;
const PATTERNS = { grapheme: GRAPHEME, word: WORD, sentence: SENTENCE };

class Segments {
  #text;
  #granularity;

  constructor(text, granularity) {
    this.#text = text;
    this.#granularity = granularity;
  }

  *[Symbol.iterator]() {
    for (const match of this.#text.matchAll(PATTERNS[this.#granularity])) {
      if (match[0] === '') continue;
      const data = { segment: match[0], index: match.index, input: this.#text };
      if (this.#granularity === 'word') data.isWordLike = /[\p{L}\p{N}]/u.test(match[0]);
      yield data;
    }
  }

  containing(index = 0) {
    for (const data of this) if (index >= data.index && index < data.index + data.segment.length) return data;
    return undefined;
  }
}

export class Segmenter extends Service {
  #own;

  constructor(locales = undefined, options = undefined) {
    super();
    this.#own = {
      locale: resolve(locales).locale,
      granularity: pick(options, 'granularity', ['grapheme', 'word', 'sentence'], 'grapheme', 'Segmenter'),
    };
  }

  segment(input) {
    return new Segments(`${input}`, this.#own.granularity);
  }

  resolvedOptions() {
    return { ...this.#own };
  }
}
