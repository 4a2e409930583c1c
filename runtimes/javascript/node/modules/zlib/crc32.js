// CRC-32 as gzip and zip use it.

const TABLE = new Uint32Array(256);
for (let byte = 0; byte < 256; byte++) {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  TABLE[byte] = value;
}

export function crc32(bytes, start = 0) {
  let value = ~start;
  for (let index = 0; index < bytes.length; index++) value = (value >>> 8) ^ TABLE[(value ^ bytes[index]) & 255];
  return ~value >>> 0;
}
