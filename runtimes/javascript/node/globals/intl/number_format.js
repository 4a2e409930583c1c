// Intl.NumberFormat.

import { resolve, supportedLocalesOf } from './locales.js';
import { parseDecimal, roundToDigits, roundToFraction, split } from './decimal.js';
import { NAMES, NARROW_SYMBOLS, PLURAL_SHORT, SYMBOLS, THREE_DIGIT_CURRENCIES, UNITS, WHOLE_CURRENCIES } from './units.js';

const NBSP = '\xa0';
const COMPACT = [
  [15, 'T', 'trillion', 12],
  [12, 'T', 'trillion', 12],
  [9, 'B', 'billion', 9],
  [6, 'M', 'million', 6],
  [3, 'K', 'thousand', 3],
];

const oneOf = (options, name, allowed, fallback) => {
  const value = options[name];
  if (value === undefined) return fallback;
  const text = typeof value === 'boolean' ? value : `${value}`;
  if (!allowed.includes(text)) throw new RangeError(`Value ${value} out of range for Intl.NumberFormat options property ${name}`);
  return text;
};

function count(options, name, min, max, fallback) {
  const value = options[name];
  if (value === undefined) return fallback;
  if (!(+value >= min && +value <= max)) throw new RangeError(`${name} value is out of range.`);
  return Math.floor(+value);
}

function currencyDigits(currency) {
  return WHOLE_CURRENCIES.has(currency) ? 0 : THREE_DIGIT_CURRENCIES.has(currency) ? 3 : 2;
}

function readOptions(locales, options) {
  if (options === null) throw new TypeError('Cannot convert undefined or null to object');
  const given = Object(options ?? {});
  const own = { ...resolve(locales) };
  own.style = oneOf(given, 'style', ['decimal', 'percent', 'currency', 'unit'], 'decimal');
  if (given.currency !== undefined && !/^[a-z]{3}$/i.test(given.currency)) throw new RangeError(`Invalid currency code : ${given.currency}`);
  own.currency = given.currency?.toUpperCase();
  if (own.style === 'currency' && own.currency === undefined) throw new TypeError('Currency code is required with currency style.');
  own.currencyDisplay = oneOf(given, 'currencyDisplay', ['code', 'symbol', 'narrowSymbol', 'name'], 'symbol');
  own.currencySign = oneOf(given, 'currencySign', ['standard', 'accounting'], 'standard');
  own.unit = given.unit;
  if (own.style === 'unit' && own.unit === undefined) throw new TypeError('Unit is required with unit style.');
  if (own.unit !== undefined && !(own.unit in UNITS)) throw new RangeError(`Invalid unit argument for Intl.NumberFormat() '${own.unit}'`);
  own.unitDisplay = oneOf(given, 'unitDisplay', ['short', 'narrow', 'long'], 'short');
  own.notation = oneOf(given, 'notation', ['standard', 'scientific', 'engineering', 'compact'], 'standard');
  own.compactDisplay = oneOf(given, 'compactDisplay', ['short', 'long'], 'short');
  own.signDisplay = oneOf(given, 'signDisplay', ['auto', 'never', 'always', 'exceptZero', 'negative'], 'auto');
  own.roundingMode = oneOf(
    given,
    'roundingMode',
    ['ceil', 'floor', 'expand', 'trunc', 'halfCeil', 'halfFloor', 'halfExpand', 'halfTrunc', 'halfEven'],
    'halfExpand',
  );
  own.trailingZeroDisplay = oneOf(given, 'trailingZeroDisplay', ['auto', 'stripIfInteger'], 'auto');
  const grouping = given.useGrouping;
  own.useGrouping =
    grouping === undefined
      ? own.notation === 'compact'
        ? 'min2'
        : 'auto'
      : grouping === 'false' || grouping === false
        ? false
        : grouping === true || grouping === 'true'
          ? 'always'
          : grouping;
  own.minimumIntegerDigits = count(given, 'minimumIntegerDigits', 1, 21, 1);
  readDigits(own, given);
  return own;
}

function readDigits(own, given) {
  if (given.minimumSignificantDigits !== undefined || given.maximumSignificantDigits !== undefined) {
    own.minimumSignificantDigits = count(given, 'minimumSignificantDigits', 1, 21, 1);
    own.maximumSignificantDigits = count(given, 'maximumSignificantDigits', own.minimumSignificantDigits, 21, 21);
    return;
  }
  const isCurrency = own.style === 'currency' && own.notation === 'standard';
  const standardMin = isCurrency ? currencyDigits(own.currency) : 0;
  const standardMax = isCurrency ? standardMin : own.style === 'percent' ? 0 : 3;
  const explicit = given.minimumFractionDigits !== undefined || given.maximumFractionDigits !== undefined;
  own.compactRounding = own.notation === 'compact' && !explicit;
  let min = count(given, 'minimumFractionDigits', 0, 100, undefined);
  let max = count(given, 'maximumFractionDigits', 0, 100, undefined);
  if (min === undefined) min = max === undefined ? standardMin : Math.min(standardMin, max);
  else if (max === undefined) max = Math.max(standardMax, min);
  max ??= Math.max(standardMax, min);
  if (min > max) throw new RangeError('maximumFractionDigits value is out of range.');
  own.minimumFractionDigits = min;
  own.maximumFractionDigits = max;
}

function rounded(own, number) {
  if (own.maximumSignificantDigits !== undefined) return roundToDigits(number, own.maximumSignificantDigits, own.roundingMode);
  if (own.compactRounding) return number.exponent >= 2 ? roundToFraction(number, 0, own.roundingMode) : roundToDigits(number, 2, own.roundingMode);
  return roundToFraction(number, own.maximumFractionDigits, own.roundingMode);
}

function grouped(own, whole) {
  const { group, lakh, min2 } = own.data.numbers;
  if (own.useGrouping === false) return [whole];
  const few = own.useGrouping === 'min2' || (min2 && own.useGrouping === 'auto');
  if (few && whole.length < 5) return [whole];
  const parts = [];
  let rest = whole;
  parts.unshift(rest.slice(-3));
  rest = rest.slice(0, -3);
  const size = lakh ? 2 : 3;
  for (; rest !== ''; rest = rest.slice(0, -size)) parts.unshift(rest.slice(-size));
  return parts.flatMap((part, index) => (index === 0 ? [part] : [{ type: 'group', value: group }, part]));
}

function numberParts(own, number) {
  const minFraction =
    own.maximumSignificantDigits !== undefined
      ? Math.max(0, own.minimumSignificantDigits - Math.max(number.exponent, 1))
      : own.compactRounding
        ? 0
        : own.minimumFractionDigits;
  let [whole, fraction] = split(number, own.minimumIntegerDigits, minFraction);
  if (own.trailingZeroDisplay === 'stripIfInteger' && /^0*$/.test(fraction)) fraction = '';
  const parts = grouped(own, whole).map((part) => (typeof part === 'string' ? { type: 'integer', value: part } : part));
  if (fraction !== '') parts.push({ type: 'decimal', value: own.data.numbers.decimal }, { type: 'fraction', value: fraction });
  return parts;
}

/** The number scaled to its notation: `1.2` with `M`, `1.23` with `E6`. */
function scaled(own, number) {
  if (own.notation === 'compact') {
    const exact = rounded(own, number);
    const size = Math.max(number.exponent, exact.exponent);
    const step = COMPACT.find(([digits]) => size > digits);
    if (!step) return { parts: numberParts(own, exact), number: exact };
    let made = rounded(own, { ...number, exponent: number.exponent - step[3] });
    let chosen = step;
    if (made.exponent > 3 && step[3] < 12) {
      chosen = COMPACT.find(([, , , power]) => power === step[3] + 3);
      made = rounded(own, { ...number, exponent: number.exponent - chosen[3] });
    }
    const suffix =
      own.compactDisplay === 'short'
        ? [{ type: 'compact', value: chosen[1] }]
        : [
            { type: 'literal', value: ' ' },
            { type: 'compact', value: chosen[2] },
          ];
    return { parts: [...numberParts(own, made), ...suffix], number: made };
  }
  if (own.notation === 'standard') {
    const made = rounded(own, number);
    return { parts: numberParts(own, made), number: made };
  }
  let power = number.digits === '' ? 0 : number.exponent - 1;
  if (own.notation === 'engineering') power = Math.floor(power / 3) * 3;
  let made = rounded(own, { ...number, exponent: number.exponent - power });
  const most = own.notation === 'engineering' ? 3 : 1;
  if (made.exponent > most) {
    // Rounding made it one digit longer.
    power += most;
    made = rounded(own, { ...number, exponent: number.exponent - power });
  }
  const exponent = [{ type: 'exponentSeparator', value: 'E' }];
  if (power < 0) exponent.push({ type: 'exponentMinusSign', value: '-' });
  exponent.push({ type: 'exponentInteger', value: `${Math.abs(power)}` });
  return { parts: [...numberParts(own, made), ...exponent], number: made };
}

function signOf(own, negative, isZero) {
  switch (own.signDisplay) {
    case 'never':
      return '';
    case 'always':
      return negative ? '-' : '+';
    case 'exceptZero':
      return isZero ? '' : negative ? '-' : '+';
    case 'negative':
      return negative && !isZero ? '-' : '';
    default:
      return negative ? '-' : '';
  }
}

function withCurrency(own, parts, isOne) {
  const { currency, currencyDisplay } = own;
  const { currency: place } = own.data.numbers;
  if (currencyDisplay === 'name') {
    const [one, many] = NAMES[currency] ?? [currency, currency];
    return [...parts, { type: 'literal', value: ' ' }, { type: 'currency', value: isOne ? one : many }];
  }
  let symbol = currency;
  if (currencyDisplay === 'symbol') symbol = own.data.symbols?.[currency] ?? SYMBOLS[currency] ?? currency;
  else if (currencyDisplay === 'narrowSymbol') symbol = NARROW_SYMBOLS[currency] ?? currency;
  const sign = { type: 'currency', value: symbol };
  const gap = [{ type: 'literal', value: NBSP }];
  if (place === 'after') return [...parts, ...gap, sign];
  return [sign, ...(place === 'spaced' || (/[A-Z]$/i.test(symbol) && parts[0].type === 'integer') ? gap : []), ...parts];
}

function withUnit(own, parts, isOne) {
  const [short, narrow, one, many] = UNITS[own.unit];
  const unit = (value, space) => [
    ...parts,
    ...(space ? [{ type: 'literal', value: ' ' }] : []),
    { type: own.unit === 'percent' ? 'percentSign' : 'unit', value },
  ];
  if (own.unitDisplay === 'long') return unit(isOne ? one : many, true);
  if (own.unitDisplay === 'narrow') return unit(narrow, false);
  return unit(isOne ? short : (PLURAL_SHORT[own.unit] ?? short), /^[a-z]/i.test(short));
}

function formatToParts(own, value) {
  if (typeof value !== 'bigint' && typeof value !== 'number')
    value = typeof value === 'string' && /^\s*[-+]?\d+\s*$/.test(value) ? BigInt(value.trim()) : Number(value);
  let negative;
  let body;
  let isOne = false;
  let isZero = false;
  if (Number.isNaN(value)) {
    negative = false;
    body = [{ type: 'nan', value: 'NaN' }];
  } else if (value === Infinity || value === -Infinity) {
    negative = value < 0;
    body = [{ type: 'infinity', value: '∞' }];
  } else {
    const number = parseDecimal(value);
    ({ negative } = number);
    const shifted = own.style === 'percent' && number.digits !== '' ? { ...number, exponent: number.exponent + 2 } : number;
    const made = scaled(own, shifted);
    body = made.parts;
    isZero = made.number.digits === '';
    isOne = body.length === 1 && body[0].value === '1';
  }
  if (own.style === 'percent')
    body = [
      ...body,
      ...(own.data.numbers.percent ? [{ type: 'literal', value: own.data.numbers.percent }] : []),
      { type: 'percentSign', value: '%' },
    ];
  else if (own.style === 'currency') body = withCurrency(own, body, isOne);
  else if (own.style === 'unit') body = withUnit(own, body, isOne);
  const sign = signOf(own, negative, isZero);
  if (sign === '-' && own.style === 'currency' && own.currencySign === 'accounting')
    return [{ type: 'literal', value: '(' }, ...body, { type: 'literal', value: ')' }];
  if (sign === '') return body;
  return [{ type: sign === '-' ? 'minusSign' : 'plusSign', value: sign }, ...body];
}

export class NumberFormat {
  #own;
  #format;

  constructor(locales = undefined, options = undefined) {
    this.#own = readOptions(locales, options);
  }

  static supportedLocalesOf(locales) {
    return supportedLocalesOf(locales);
  }

  get format() {
    return (this.#format ??= Object.defineProperty(
      (value) =>
        formatToParts(this.#own, value)
          .map((part) => part.value)
          .join(''),
      'name',
      { value: '' },
    ));
  }

  formatToParts(value) {
    return formatToParts(this.#own, value);
  }

  formatRange(start, end) {
    const first = this.format(start);
    const last = this.format(end);
    return first === last ? `~${first}` : `${first}${this.#own.style === 'currency' ? ' – ' : '–'}${last}`;
  }

  resolvedOptions() {
    const {
      locale,
      style,
      currency,
      currencyDisplay,
      currencySign,
      unit,
      unitDisplay,
      minimumIntegerDigits,
      minimumFractionDigits,
      maximumFractionDigits,
    } = this.#own;
    const {
      minimumSignificantDigits,
      maximumSignificantDigits,
      useGrouping,
      notation,
      compactDisplay,
      signDisplay,
      roundingMode,
      trailingZeroDisplay,
    } = this.#own;
    const shown = {
      locale,
      numberingSystem: 'latn',
      style,
      ...(style === 'currency' ? { currency, currencyDisplay, currencySign } : {}),
      ...(style === 'unit' ? { unit, unitDisplay } : {}),
      minimumIntegerDigits,
      minimumFractionDigits,
      maximumFractionDigits,
      minimumSignificantDigits,
      maximumSignificantDigits,
      useGrouping,
      notation,
      compactDisplay: notation === 'compact' ? compactDisplay : undefined,
      signDisplay,
      roundingIncrement: 1,
      roundingMode,
      roundingPriority: 'auto',
      trailingZeroDisplay,
    };
    return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined));
  }
}
