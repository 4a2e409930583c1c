// string_decoder: characters that arrive in pieces.
const { StringDecoder } = require('string_decoder');
const split = (encoding, bytes, sizes) => {
  const decoder = new StringDecoder(encoding);
  const parts = [];
  let at = 0;
  for (const size of sizes) {
    parts.push(decoder.write(Buffer.from(bytes.slice(at, at + size))));
    at += size;
  }
  parts.push(decoder.end());
  console.log(encoding, JSON.stringify(parts));
};
const euro = [0xe2, 0x82, 0xac],
  smile = [0xf0, 0x9f, 0x98, 0x80];
split('utf8', [...euro, ...smile, 0x41], [1, 1, 1, 2, 2, 1]);
split('utf8', [...euro], [2]);
split('utf8', [0xe2, 0x82, 0x41, 0xff, 0x42], [2, 1, 1, 1]);
split('utf8', [0xf0, 0x9f, 0xc3, 0xa9], [2, 2]);
split('utf16le', [0x61, 0, 0x3d, 0xd8, 0, 0xde], [1, 3, 2]);
split('utf16le', [0x61, 0, 0x62], [3]);
split('base64', [1, 2, 3, 4, 5], [1, 1, 2, 1]);
split('base64url', [250, 251, 252, 253], [2, 2]);
split('hex', [1, 171], [1, 1]);
split('latin1', [0xe9, 0x41], [1, 1]);
split('ascii', [0xe9, 0x41], [1, 1]);
const decoder = new StringDecoder();
console.log(
  decoder.encoding,
  JSON.stringify(decoder.end(Buffer.from(euro))),
  decoder.write('string'),
  new StringDecoder('UCS2').encoding,
  new StringDecoder('binary').encoding,
);
for (const action of [() => new StringDecoder('nope'), () => decoder.write(5), () => decoder.write(null)]) {
  try {
    action();
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
