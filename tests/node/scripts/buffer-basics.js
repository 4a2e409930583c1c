// Buffers: making, encoding, comparing, searching, slicing.
const { Buffer: Same, constants, isUtf8, isAscii, SlowBuffer, kMaxLength } = require('buffer');
console.log(Same === Buffer, typeof constants.MAX_LENGTH, typeof constants.MAX_STRING_LENGTH);
const text = 'héllo wörld €😀';
for (const encoding of [
  'utf8',
  'utf-8',
  'UTF8',
  'hex',
  'base64',
  'base64url',
  'latin1',
  'binary',
  'ascii',
  'utf16le',
  'ucs2',
]) {
  const coded = Buffer.from(text).toString(encoding);
  console.log(
    encoding.padEnd(10),
    JSON.stringify(coded),
    Buffer.from(text, encoding).length,
    Buffer.byteLength(text, encoding),
  );
}
console.log(
  Buffer.from([1, 2, 300, -1, 1.7]),
  Buffer.from('zz', 'hex'),
  Buffer.from('abc', 'hex'),
  Buffer.from('YQ', 'base64'),
  Buffer.from('Y Q=\n=', 'base64'),
  Buffer.from('_-8', 'base64url'),
);
console.log(
  Buffer.alloc(3),
  Buffer.alloc(5, 'ab'),
  Buffer.alloc(3, 1),
  Buffer.allocUnsafe(2).length,
  Buffer.from(new Uint16Array([1, 256])),
  Buffer.from({ length: 2, 0: 5, 1: 6 }),
);
const shared = Buffer.from(new Uint8Array([1, 2, 3, 4]).buffer, 1, 2);
console.log(shared, shared.byteOffset, shared.buffer.byteLength, Buffer.from(shared) !== shared);
console.log(
  Buffer.concat([Buffer.from('a'), Buffer.from('bc')]),
  Buffer.concat([Buffer.from('abcdef')], 3),
  Buffer.concat([], 2),
);
const buffer = Buffer.from('the quick brown fox');
console.log(
  buffer.indexOf('quick'),
  buffer.indexOf('absent'),
  buffer.lastIndexOf('o'),
  buffer.includes('fox'),
  buffer.indexOf(0x71),
  buffer.indexOf(Buffer.from('brown')),
  buffer.indexOf('o', -2),
);
console.log(
  buffer.subarray(4, 9).toString(),
  buffer.slice(-3).toString(),
  buffer.toString('utf8', 4, 9),
  buffer.at(-1),
);
console.log(
  buffer.equals(Buffer.from('the quick brown fox')),
  Buffer.compare(Buffer.from('a'), Buffer.from('b')),
  buffer.compare(Buffer.from('the')),
  [Buffer.from('b'), Buffer.from('a')].sort(Buffer.compare),
);
const target = Buffer.alloc(8, '.');
console.log(
  Buffer.from('xyz').copy(target, 2),
  target.toString(),
  target.write('é', 6),
  target.write('long text', 5),
  target.fill('ab', 0, 3).toString(),
  target.swap16().toString(),
);
console.log(JSON.stringify(Buffer.from('hi')), Buffer.from(JSON.parse(JSON.stringify(Buffer.from('hi')))).toString());
console.log(
  [...Buffer.from('ab').entries()],
  Buffer.from('ab').map((x) => x + 1),
  Buffer.isBuffer(Buffer.from('x')),
  Buffer.isBuffer(new Uint8Array(1)),
  Buffer.isEncoding('UTF-8'),
  Buffer.isEncoding('x'),
);
console.log(
  Buffer.from([0xff, 0xfe, 0x41]).toString(),
  Buffer.from([0xe2, 0x82]).toString(),
  Buffer.from('\ud800x').toString('hex'),
  isUtf8(Buffer.from([0xff])),
  isAscii(Buffer.from('a')),
);
console.log(
  Buffer.alloc(60, 1),
  buffer instanceof Uint8Array,
  Buffer.of(1, 2),
  buffer.readUInt8(0),
  buffer.parent === buffer.buffer,
);
for (const action of [
  () => Buffer.from(5),
  () => Buffer.from(null),
  () => Buffer.from('x', 'nope'),
  () => Buffer.alloc(-1),
  () => Buffer.alloc('5'),
  () => Buffer.concat('x'),
  () => Buffer.from('a').readUInt16LE(0),
  () => Buffer.from({}),
  () => Buffer.byteLength(5),
  () => Buffer.from('ab').toString('nope'),
  () => Buffer.compare('a', 'b'),
]) {
  try {
    console.log(action());
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
