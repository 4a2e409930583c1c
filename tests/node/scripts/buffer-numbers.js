// Numbers in buffers: every width, both orders, and values that do not fit.
const buffer = Buffer.alloc(16);
const writes = [
  ['UInt8', 255],
  ['Int8', -5],
  ['UInt16LE', 0x1234],
  ['UInt16BE', 0x1234],
  ['Int16LE', -2],
  ['Int16BE', -2],
  ['UInt32LE', 0xdeadbeef],
  ['UInt32BE', 0xdeadbeef],
  ['Int32LE', -1234567],
  ['Int32BE', -1234567],
  ['FloatLE', 1.5],
  ['FloatBE', -0.1],
  ['DoubleLE', Math.PI],
  ['DoubleBE', -1e300],
  ['BigUInt64LE', 0x1122334455667788n],
  ['BigUInt64BE', 2n ** 64n - 1n],
  ['BigInt64LE', -1n],
  ['BigInt64BE', -(2n ** 63n)],
];
for (const [kind, value] of writes) {
  buffer.fill(0);
  const end = buffer[`write${kind}`](value, 3);
  console.log(kind.padEnd(12), end, buffer.toString('hex'), buffer[`read${kind}`](3));
}
for (let size = 1; size <= 6; size++) {
  buffer.fill(0);
  buffer.writeIntBE((-size * 1000) % 128, 0, size);
  console.log(
    size,
    buffer.readIntBE(0, size),
    buffer.readUIntBE(0, size),
    buffer.readIntLE(0, size),
    buffer.writeUIntLE(size, 8, size),
  );
}
console.log(buffer.readUint8 === buffer.readUInt8, buffer.writeBigUint64LE === buffer.writeBigUInt64LE);
const attempts = [
  () => buffer.writeUInt8(256),
  () => buffer.writeInt8(-129),
  () => buffer.writeUInt16LE(70000),
  () => buffer.writeInt32BE(2 ** 31),
  () => buffer.writeUInt32LE(-1),
  () => buffer.writeBigInt64LE(2n ** 63n),
  () => buffer.writeBigInt64LE(5),
  () => buffer.readUInt8(16),
  () => buffer.readDoubleLE(9),
  () => buffer.readInt8(-1),
  () => buffer.readInt8(1.5),
  () => buffer.readInt8('1'),
  () => buffer.readIntLE(0, 7),
  () => buffer.readIntLE(0),
  () => buffer.writeUInt8('x'),
  () => buffer.writeFloatLE('2.5') && buffer.readFloatLE(),
  () => Buffer.alloc(3).swap16(),
  () => buffer.swap64().length,
];
for (const attempt of attempts) {
  try {
    console.log(attempt());
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
