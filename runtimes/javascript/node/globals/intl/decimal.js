// Decimal numbers as digits, rounded the way people round.

/** `[negative, digits, exponent]`: the value is 0.DIGITS × 10^exponent. Digits without leading or trailing zeros. */
export function parseDecimal(value) {
  let text = typeof value === 'bigint' ? `${value}` : Object.is(value, -0) ? '-0' : `${value}`;
  const negative = text[0] === '-';
  if (negative) text = text.slice(1);
  const [mantissa, power = '0'] = text.split('e');
  const [whole, fraction = ''] = mantissa.split('.');
  let digits = whole + fraction;
  let exponent = whole.length + Number(power);
  const zeros = /^0*/.exec(digits)[0].length;
  digits = digits.slice(zeros);
  exponent -= zeros;
  digits = digits.replace(/0+$/, '');
  return digits === '' ? { negative, digits: '', exponent: 0 } : { negative, digits, exponent };
}

/** Keeps `count` digits (it may be negative), rounding as `mode` says. */
function keep(number, count, mode) {
  if (count >= number.digits.length) return number;
  const { negative, digits, exponent } = number;
  if (count < 0) count = -1;
  const next = count < 0 ? '0' : digits[count];
  const rest = count < 0 ? digits : digits.slice(count + 1);
  const half = next === '5' && /^0*$/.test(rest);
  let up;
  switch (mode) {
    case 'ceil':
      up = !negative;
      break;
    case 'floor':
      up = negative;
      break;
    case 'expand':
      up = true;
      break;
    case 'trunc':
      up = false;
      break;
    case 'halfEven':
      up = half ? Number(digits[count - 1] ?? 0) % 2 === 1 : next >= '5';
      break;
    case 'halfTrunc':
      up = half ? false : next >= '5';
      break;
    case 'halfCeil':
      up = half ? !negative : next >= '5';
      break;
    case 'halfFloor':
      up = half ? negative : next >= '5';
      break;
    default:
      up = next >= '5';
  }
  const head = count < 0 ? '' : digits.slice(0, count);
  if (!up) {
    const kept = head.replace(/0+$/, '');
    return { negative, digits: kept, exponent: kept === '' ? 0 : exponent };
  }
  if (head === '') return count < 0 && digits === '' ? number : { negative, digits: '1', exponent: exponent - Math.max(count, 0) + 1 };
  const raised = `${BigInt(head) + 1n}`.padStart(head.length, '0');
  return { negative, digits: raised.replace(/0+$/, ''), exponent: exponent + raised.length - head.length };
}

export const roundToFraction = (number, places, mode) => keep(number, number.exponent + places, mode);
export const roundToDigits = (number, count, mode) => keep(number, count, mode);

/** The whole and the fractional part as text, with at least so many digits each. */
export function split({ digits, exponent }, minWhole, minFraction) {
  const whole = exponent > 0 ? digits.slice(0, exponent).padEnd(exponent, '0') : '';
  const fraction = exponent > 0 ? digits.slice(exponent) : digits === '' ? '' : '0'.repeat(-exponent) + digits;
  return [whole.padStart(minWhole, '0'), fraction.padEnd(minFraction, '0')];
}
