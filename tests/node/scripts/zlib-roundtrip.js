// zlib at once and by callback: what comes out of what went in, and garbage.
const zlib = require('zlib');
const text = 'the quick brown fox jumps over the lazy dog. '.repeat(50);
for (const [pack, unpack] of [
  ['gzipSync', 'gunzipSync'],
  ['deflateSync', 'inflateSync'],
  ['deflateRawSync', 'inflateRawSync'],
  ['gzipSync', 'unzipSync'],
  ['deflateSync', 'unzipSync'],
]) {
  const packed = zlib[pack](text);
  console.log(
    pack,
    unpack,
    Buffer.isBuffer(packed),
    packed.length < text.length / 5,
    zlib[unpack](packed).toString() === text,
  );
}
console.log(
  zlib.gzipSync('').subarray(0, 4),
  zlib.gunzipSync(zlib.gzipSync('')).length,
  zlib.inflateSync(Buffer.from('eJzLSM3JyQcABiwCFQ==', 'base64')).toString(),
);
console.log(zlib.gunzipSync(Buffer.from('H4sIAAAAAAAAA8tIzcnJVyjPL8pJAQCFEUoNCwAAAA==', 'base64')).toString());
console.log(
  zlib.inflateSync(zlib.deflateSync(text, { level: 0 })).length,
  zlib.deflateSync(text, { level: 9 }).length <= zlib.deflateSync(text, { level: 1 }).length,
  zlib.gunzipSync(Buffer.concat([zlib.gzipSync('a'), zlib.gzipSync('b')])).toString(),
);
console.log(
  zlib.crc32('hello'),
  zlib.crc32(Buffer.from('lo'), zlib.crc32('hel')),
  zlib.constants.Z_BEST_COMPRESSION,
  zlib.codes.Z_DATA_ERROR,
);
for (const action of [
  () => zlib.gunzipSync('plain text'),
  () => zlib.inflateSync(Buffer.from([1, 2, 3])),
  () => zlib.gunzipSync(zlib.gzipSync(text).subarray(0, 20)),
  () => zlib.gunzipSync(Buffer.alloc(0)),
  () => zlib.gzipSync(5),
  () => zlib.gzipSync(),
  () => zlib.gzipSync('x', { level: 99 }),
  () => zlib.inflateSync(zlib.deflateSync(text), { maxOutputLength: 10 }),
]) {
  try {
    console.log('returned', action());
  } catch (error) {
    console.log(error.name, error.code, error.errno, error.message);
  }
}
zlib.gzip(text, (error, packed) => {
  console.log(error, packed.length < text.length);
  zlib.gunzip(packed, (problem, back) => {
    console.log(problem, back.toString() === text);
    zlib.gunzip(Buffer.from('nonsense'), (failure) => console.log(failure.code, failure.message));
  });
});
