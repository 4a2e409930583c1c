// Intl.Collator: the order in which people look words up.

import { resolve, supportedLocalesOf } from './locales.js';

// What comes before letters and digits, in order; the rest follows by code point.
const PUNCTUATION = '\t\n\v\f\r\u0085\u2028\u2029 \xa0_-‐‑‒–—,;:!¡?¿.…·\'‘’‚‹›"“”„«»()[]{}§¶@*/\\&#%‰†‡•`´˜^¯¨°©®+±÷×<=>|¦~¤¢$£¥€';
const WEIGHTS = new Map([...PUNCTUATION].map((char, index) => [char, index + 1]));
const LETTERS = 0x10000;
const DIGITS = 0x8000;

const EXPANSIONS = { ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', đ: 'd', ł: 'l', þ: 'th' };

/** Base letters with their place in the order, then accents, then case. */
function analyse(text, options) {
  const primary = [];
  const accents = [];
  const cases = [];
  for (const char of text.normalize('NFD')) {
    if (/\p{Mn}/u.test(char)) {
      accents[accents.length - 1] = (accents[accents.length - 1] ?? '') + char;
      continue;
    }
    const lower = char.toLowerCase();
    if (WEIGHTS.has(char)) {
      if (options.ignorePunctuation) continue;
      primary.push(WEIGHTS.get(char));
    } else if (lower >= '0' && lower <= '9') {
      primary.push(DIGITS + Number(lower));
    } else if (EXPANSIONS[lower]) {
      for (const part of EXPANSIONS[lower]) {
        primary.push(LETTERS + part.codePointAt(0));
        accents.push(lower);
        cases.push(char === lower ? 0 : 1);
      }
      continue;
    } else {
      primary.push(LETTERS + lower.codePointAt(0));
    }
    accents.push('');
    cases.push(char === lower ? 0 : 1);
  }
  return { primary, accents, cases };
}

/** Runs of digits count as one number each, greater than any single digit's weight only by value. */
function withNumbers(primary) {
  const made = [];
  for (let index = 0; index < primary.length; index++) {
    if (primary[index] < DIGITS || primary[index] > DIGITS + 9) {
      made.push(primary[index]);
      continue;
    }
    let digits = '';
    for (; index < primary.length && primary[index] >= DIGITS && primary[index] <= DIGITS + 9; index++) digits += primary[index] - DIGITS;
    index--;
    const value = digits.replace(/^0+(?=\d)/, '');
    // Longer numbers are greater; then digit by digit.
    made.push(DIGITS + value.length / 1000, ...[...value].map((digit) => DIGITS + Number(digit) / 1000));
  }
  return made;
}

function compareLists(a, b) {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) if (a[index] !== b[index]) return a[index] < b[index] ? -1 : 1;
  return Math.sign(a.length - b.length);
}

const SIMPLE = /^[a-z0-9]*$/;

export function compareTexts(x, y, options) {
  if (x === y) return 0;
  // Plain lower-case words sort by code point.
  if (!options.numeric && SIMPLE.test(x) && SIMPLE.test(y)) return x < y ? -1 : 1;
  const a = analyse(x, options);
  const b = analyse(y, options);
  const base = options.numeric ? compareLists(withNumbers(a.primary), withNumbers(b.primary)) : compareLists(a.primary, b.primary);
  if (base !== 0 || options.sensitivity === 'base') return base;
  if (options.sensitivity !== 'case') {
    const accent = compareLists(a.accents, b.accents);
    if (accent !== 0) return accent;
  }
  if (options.sensitivity === 'accent') return 0;
  const upperFirst = options.caseFirst === 'upper';
  return upperFirst ? compareLists(b.cases, a.cases) : compareLists(a.cases, b.cases);
}

export function collation(locales, options = {}) {
  const { locale } = resolve(locales);
  const { usage = 'sort', sensitivity = 'variant', ignorePunctuation = false, numeric = false, caseFirst = 'false' } = options ?? {};
  if (!['base', 'accent', 'case', 'variant'].includes(sensitivity)) throw new RangeError(`Value ${sensitivity} out of range for Intl.Collator options property sensitivity`);
  const extension = /-u(?:-[a-z0-9]+)*-kn(?:-(true|false))?/.exec(`${locales ?? ''}`);
  return { locale, usage, sensitivity, ignorePunctuation: Boolean(ignorePunctuation), collation: 'default', numeric: options?.numeric === undefined && extension ? extension[1] !== 'false' : Boolean(numeric), caseFirst: `${caseFirst}` };
}

export class Collator {
  #own;
  #compare;

  constructor(locales = undefined, options = undefined) {
    this.#own = collation(locales, options);
  }

  static supportedLocalesOf(locales) {
    return supportedLocalesOf(locales);
  }

  get compare() {
    return (this.#compare ??= Object.defineProperty((x, y) => compareTexts(`${x}`, `${y}`, this.#own), 'name', { value: '' }));
  }

  resolvedOptions() {
    return { ...this.#own };
  }
}
