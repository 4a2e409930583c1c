// Reads the sizes of PNG, GIF, JPEG and BMP images from their first bytes.
const fs = require('fs');
const path = require('path');

const readers = {
  png: {
    match: (b) => b.subarray(0, 8).equals(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])),
    size: (b) => [b.readUInt32BE(16), b.readUInt32BE(20)],
  },
  gif: {
    match: (b) => /^GIF8[79]a$/.test(b.toString('ascii', 0, 6)),
    size: (b) => [b.readUInt16LE(6), b.readUInt16LE(8)],
  },
  bmp: {
    match: (b) => b.toString('latin1', 0, 2) === 'BM',
    size: (b) => [b.readInt32LE(18), Math.abs(b.readInt32LE(22))],
  },
  jpeg: {
    match: (b) => b[0] === 0xff && b[1] === 0xd8,
    size: (b) => {
      for (let at = 2; at + 9 < b.length; at += 2 + b.readUInt16BE(at + 2)) {
        if (b[at] !== 0xff) break;
        if (b[at + 1] >= 0xc0 && b[at + 1] <= 0xc3) return [b.readUInt16BE(at + 7), b.readUInt16BE(at + 5)];
      }
      throw new Error('no frame header');
    },
  },
};

function sizeOf(file) {
  const fd = fs.openSync(file, 'r');
  try {
    const buffer = Buffer.alloc(512);
    const length = fs.readSync(fd, buffer, 0, buffer.length, 0);
    const bytes = buffer.subarray(0, length);
    const [format, reader] = Object.entries(readers).find(([, r]) => r.match(bytes)) || [];
    if (!reader) throw new TypeError(`unknown format: ${bytes.subarray(0, 4).toString('hex')}`);
    const [width, height] = reader.size(bytes);
    return { format, width, height, ratio: Number((width / height).toFixed(3)) };
  } finally {
    fs.closeSync(fd);
  }
}
const png = Buffer.concat([
  Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'),
  Buffer.from([0, 0, 3, 32, 0, 0, 2, 88]),
]);
const jpeg = Buffer.from('ffd8ffe000104a46494600010100000100010000ffc0001108012c019003012200', 'hex');
const bmp = Buffer.alloc(26);
bmp.write('BM');
bmp.writeInt32LE(64, 18);
bmp.writeInt32LE(-32, 22);
const samples = {
  'a.png': png,
  'b.gif': Buffer.from('GIF89a\x0a\x00\x14\x00', 'latin1'),
  'c.jpg': jpeg,
  'd.bmp': bmp,
  'e.txt': Buffer.from('not an image'),
  'f.png': png.subarray(0, 18),
  'g.jpg': Buffer.from([0xff, 0xd8]),
  'h.png': Buffer.alloc(0),
};
for (const [name, bytes] of Object.entries(samples)) fs.writeFileSync(name, bytes);
for (const name of [...Object.keys(samples), 'absent.png']) {
  try {
    console.log(path.parse(name).name, sizeOf(name));
  } catch (error) {
    console.log(name, error.name, error.code, error.message);
  }
}
