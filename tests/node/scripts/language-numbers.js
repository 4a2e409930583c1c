// Numbers as text, and text as numbers.
for (const n of [
  0,
  -0,
  1,
  0.1 + 0.2,
  1 / 3,
  1e21,
  1e-7,
  123456789.123,
  5e-324,
  2 ** 53,
  1.7976931348623157e308,
  100,
  1.005,
]) {
  console.log(
    String(n),
    n.toFixed(2),
    n.toPrecision(3),
    n.toExponential(2),
    Math.trunc(n % 1e9).toString(2),
    Math.trunc(n % 1e9).toString(36),
  );
}
console.log([1.45, 2.5, 1.005, 0.5, -1.5, 25].map((n) => [n.toFixed(1), n.toFixed(0), Math.round(n)]));
console.log(
  Number(''),
  Number(' 12 '),
  Number('0x1f'),
  Number('1e3'),
  Number('1_000'),
  Number('12px'),
  Number(null),
  Number(undefined),
  Number([5]),
  Number(true),
  Number('0b11'),
  Number('-0'),
  Number('Infinity'),
);
console.log(
  parseInt('12px'),
  parseInt('0x1f'),
  parseInt('z', 36),
  parseInt(''),
  parseFloat('.5e1x'),
  parseFloat('-.0'),
  parseInt('9007199254740993'),
  parseInt(null),
  parseInt('101', 2),
);
console.log(
  Number.MAX_SAFE_INTEGER,
  Number.EPSILON > 0,
  Number.isInteger(5.0),
  Number.isSafeInteger(2 ** 53),
  0.1 * 3,
  9007199254740993,
  1_000_000,
  0xff,
  0o17,
  0b101,
);
console.log(
  5 % 3,
  -5 % 3,
  5 % -3,
  5.5 % 2,
  2 ** -1,
  (-8) ** (1 / 3),
  7 / 0,
  -7 / 0,
  0 / 0,
  1 << 31,
  1 << 32,
  -1 >>> 0,
  -1 >>> 28,
  ~5,
  5 ^ 3,
  (2 ** 32) | 0,
);
console.log(
  Math.max(),
  Math.min(),
  Math.max(1, NaN),
  Math.hypot(3, 4),
  Math.sign(-3),
  Math.trunc(-4.7),
  Math.cbrt(27),
  Math.log2(8),
  Math.log10(1000),
  Math.fround(5.5),
  Math.clz32(1),
  Math.atan2(1, 1),
  Math.expm1(0),
  Math.imul(3, 4),
);
console.log(
  10n ** 20n,
  -7n / 2n,
  -7n % 3n,
  BigInt(2 ** 53) + 1n,
  BigInt.asUintN(8, 257n),
  BigInt('0xff'),
  5n > 4,
  2n == 2,
  typeof 1n,
  123n.toString(16),
  Number(10n ** 30n),
  BigInt.asIntN(8, 255n),
);
for (const bad of [
  () => 1n + 1,
  () => BigInt(1.5),
  () => BigInt('x'),
  () => (1).toFixed(101),
  () => (1).toString(1),
  () => 1n / 0n,
  () => Math.max(1n),
]) {
  try {
    console.log(bad());
  } catch (error) {
    console.log(error.name);
  }
}
console.log(
  [10, 9, 1, 'b', undefined, 'a', , null].sort(),
  [3, 1, 2].toSorted((a, b) => b - a),
  [1, 2, 3].with(1, 9),
  [3, 1].toReversed(),
  [1, 2, 3, 4].toSpliced(1, 2, 'x'),
);
console.log(Number.parseFloat === parseFloat, isNaN('x'), Number.isNaN('x'), isFinite('5'));
