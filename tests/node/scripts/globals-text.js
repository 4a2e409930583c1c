// TextEncoder and TextDecoder: encodings, errors, pieces, byte order marks.
const encoder = new TextEncoder();
console.log(
  encoder.encoding,
  encoder.encode('é€😀'),
  encoder.encode(),
  encoder.encode('\ud800'),
  encoder.encodeInto('héllo', new Uint8Array(4)),
);
console.log(
  encoder,
  new TextDecoder().encoding,
  new TextDecoder('utf-16le').encoding,
  new TextDecoder('latin1').encoding,
  new TextDecoder('UTF8').fatal,
);
const decode = (bytes, label, options) => {
  try {
    return JSON.stringify(new TextDecoder(label, options).decode(new Uint8Array(bytes)));
  } catch (error) {
    return [error.name, error.code, error.message].join(' ');
  }
};
console.log(
  decode([0xc3, 0xa9, 0xff, 0x41]),
  decode([0xff], 'utf-8', { fatal: true }),
  decode([0xef, 0xbb, 0xbf, 0x41]),
  decode([0xef, 0xbb, 0xbf, 0x41], 'utf-8', { ignoreBOM: true }),
);
console.log(
  decode([0x41, 0, 0x3d, 0xd8, 0, 0xde], 'utf-16le'),
  decode([0xe9, 0x80], 'latin1'),
  decode([0xe9, 0x80], 'windows-1252'),
  decode([0x41], 'ascii'),
  decode([1], 'nonsense'),
);
const streaming = new TextDecoder();
console.log(
  JSON.stringify([
    streaming.decode(new Uint8Array([0xe2, 0x82]), { stream: true }),
    streaming.decode(new Uint8Array([0xac]), { stream: true }),
    streaming.decode(new Uint8Array([0xf0]), { stream: true }),
    streaming.decode(),
  ]),
);
console.log(
  new TextDecoder().decode(Buffer.from('buffer')),
  new TextDecoder().decode(new Uint8Array([65]).buffer),
  new TextDecoder().decode(new DataView(new ArrayBuffer(1))).length,
  new TextDecoder().decode() === '',
);
for (const action of [
  () => new TextDecoder().decode('text'),
  () => new TextDecoder().decode(null),
  () => new TextDecoder('utf-8', 5),
  () => encoder.encodeInto('x', []),
]) {
  try {
    console.log(action());
  } catch (error) {
    console.log(error.name, error.code);
  }
}
