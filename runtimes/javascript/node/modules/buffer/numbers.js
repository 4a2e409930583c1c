// Numbers in a Buffer: the methods read…, write… and swap….

import { invalidArgType, nodeError, outOfRange } from '../../internal/errors.js';

const floats = new Float64Array(1);
const floatBytes = new Uint8Array(floats.buffer);
const singles = new Float32Array(floats.buffer);

function badOffset(value, max, name = 'offset') {
  if (typeof value !== 'number') return invalidArgType(name, 'number', value);
  if (Math.floor(value) !== value) return outOfRange(name, 'an integer', value);
  if (max < 0) return nodeError(RangeError, 'ERR_BUFFER_OUT_OF_BOUNDS', 'Attempt to access memory outside buffer bounds');
  return outOfRange(name, `>= 0 and <= ${max}`, value);
}

function check(buffer, offset, size) {
  // One comparison for the common case; anything else is worked out for the message.
  if (!(typeof offset === 'number' && offset >= 0 && offset + size <= buffer.length && Math.floor(offset) === offset)) {
    throw badOffset(offset, buffer.length - size);
  }
}

function checkSize(size) {
  if (size === undefined) throw invalidArgType('byteLength', 'number', size);
  if (!(typeof size === 'number' && size >= 1 && size <= 6 && Math.floor(size) === size)) {
    if (typeof size !== 'number') throw invalidArgType('byteLength', 'number', size);
    if (Math.floor(size) !== size) throw outOfRange('byteLength', 'an integer', size);
    throw outOfRange('byteLength', '>= 1 and <= 6', size);
  }
}

function checkValue(value, min, max, size) {
  if (value <= max && value >= min) return;
  if (value !== value) return;
  const suffix = typeof min === 'bigint' ? 'n' : '';
  let range;
  if (size <= 4) range = `>= ${min} and <= ${max}`;
  else if (min == 0) range = `>= 0${suffix} and < 2${suffix} ** ${size * 8}${suffix}`;
  else range = `>= -(2${suffix} ** ${size * 8 - 1}${suffix}) and < 2${suffix} ** ${size * 8 - 1}${suffix}`;
  throw outOfRange('value', range, value);
}

function readUnsigned(buffer, offset, size, little) {
  if (size === 4) {
    return little
      ? (buffer[offset] | (buffer[offset + 1] << 8) | (buffer[offset + 2] << 16)) + buffer[offset + 3] * 0x1000000
      : buffer[offset] * 0x1000000 + ((buffer[offset + 1] << 16) | (buffer[offset + 2] << 8) | buffer[offset + 3]);
  }
  if (size === 2) return little ? buffer[offset] | (buffer[offset + 1] << 8) : (buffer[offset] << 8) | buffer[offset + 1];
  let value = 0;
  if (little) for (let index = size - 1; index >= 0; index--) value = value * 256 + buffer[offset + index];
  else for (let index = 0; index < size; index++) value = value * 256 + buffer[offset + index];
  return value;
}

function readSigned(buffer, offset, size, little) {
  const value = readUnsigned(buffer, offset, size, little);
  const limit = 2 ** (size * 8 - 1);
  return value >= limit ? value - 2 * limit : value;
}

function writeInteger(buffer, value, offset, size, little) {
  // Two's complement by arithmetic: bit operations stop at 32 bits.
  let rest = Math.trunc(value);
  if (rest !== rest) rest = 0;
  if (rest < 0) rest += 2 ** (size * 8);
  for (let index = 0; index < size; index++) {
    buffer[little ? offset + index : offset + size - 1 - index] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  return offset + size;
}

function readBig(buffer, offset, little) {
  const [high, low] = little ? [4, 0] : [0, 4];
  return (BigInt(readUnsigned(buffer, offset + high, 4, little)) << 32n) + BigInt(readUnsigned(buffer, offset + low, 4, little));
}

function writeBig(buffer, value, offset, little) {
  const bits = BigInt.asUintN(64, value);
  const [high, low] = little ? [4, 0] : [0, 4];
  writeInteger(buffer, Number(bits >> 32n), offset + high, 4, little);
  writeInteger(buffer, Number(bits & 0xffffffffn), offset + low, 4, little);
  return offset + 8;
}

// The engine runs on a little-endian machine: WebAssembly knows no other.
function readFloat(buffer, offset, size, little) {
  for (let index = 0; index < size; index++) floatBytes[index] = buffer[little ? offset + index : offset + size - 1 - index];
  return size === 4 ? singles[0] : floats[0];
}

function writeFloat(buffer, value, offset, size, little) {
  if (size === 4) singles[0] = value;
  else floats[0] = value;
  for (let index = 0; index < size; index++) buffer[little ? offset + index : offset + size - 1 - index] = floatBytes[index];
  return offset + size;
}

const methods = {};

function define(name, method) {
  Object.defineProperty(method, 'name', { value: name });
  methods[name] = method;
  // `Uint` is another spelling of `UInt`, and the same function.
  if (name.includes('UInt')) methods[name.replace('UInt', 'Uint')] = method;
}

for (const [suffix, little] of [
  ['LE', true],
  ['BE', false],
]) {
  for (const size of [1, 2, 4]) {
    if (size === 1 && !little) continue;
    const end = size === 1 ? '8' : `${size * 8}${suffix}`;
    const top = 2 ** (size * 8);
    define(`readUInt${end}`, function (offset = 0) {
      check(this, offset, size);
      return size === 1 ? this[offset] : readUnsigned(this, offset, size, little);
    });
    define(`readInt${end}`, function (offset = 0) {
      check(this, offset, size);
      return readSigned(this, offset, size, little);
    });
    define(`writeUInt${end}`, function (value, offset = 0) {
      value = +value;
      checkValue(value, 0, top - 1, size);
      check(this, offset, size);
      return writeInteger(this, value, offset, size, little);
    });
    define(`writeInt${end}`, function (value, offset = 0) {
      value = +value;
      checkValue(value, -top / 2, top / 2 - 1, size);
      check(this, offset, size);
      return writeInteger(this, value, offset, size, little);
    });
  }
  define(`readUInt${suffix}`, function (offset, byteLength) {
    if (offset === undefined) throw invalidArgType('offset', 'number', offset);
    checkSize(byteLength);
    check(this, offset, byteLength);
    return readUnsigned(this, offset, byteLength, little);
  });
  define(`readInt${suffix}`, function (offset, byteLength) {
    if (offset === undefined) throw invalidArgType('offset', 'number', offset);
    checkSize(byteLength);
    check(this, offset, byteLength);
    return readSigned(this, offset, byteLength, little);
  });
  define(`writeUInt${suffix}`, function (value, offset, byteLength) {
    checkSize(byteLength);
    value = +value;
    checkValue(value, 0, 2 ** (byteLength * 8) - 1, byteLength);
    if (offset === undefined) throw invalidArgType('offset', 'number', offset);
    check(this, offset, byteLength);
    return writeInteger(this, value, offset, byteLength, little);
  });
  define(`writeInt${suffix}`, function (value, offset, byteLength) {
    checkSize(byteLength);
    value = +value;
    const top = 2 ** (byteLength * 8 - 1);
    checkValue(value, -top, top - 1, byteLength);
    if (offset === undefined) throw invalidArgType('offset', 'number', offset);
    check(this, offset, byteLength);
    return writeInteger(this, value, offset, byteLength, little);
  });
  define(`readBigUInt64${suffix}`, function (offset = 0) {
    check(this, offset, 8);
    return readBig(this, offset, little);
  });
  define(`readBigInt64${suffix}`, function (offset = 0) {
    check(this, offset, 8);
    return BigInt.asIntN(64, readBig(this, offset, little));
  });
  define(`writeBigUInt64${suffix}`, function (value, offset = 0) {
    checkBig(value, 0n, 0xffffffffffffffffn);
    check(this, offset, 8);
    return writeBig(this, value, offset, little);
  });
  define(`writeBigInt64${suffix}`, function (value, offset = 0) {
    checkBig(value, -0x8000000000000000n, 0x7fffffffffffffffn);
    check(this, offset, 8);
    return writeBig(this, value, offset, little);
  });
  for (const [kind, size] of [
    ['Float', 4],
    ['Double', 8],
  ]) {
    define(`read${kind}${suffix}`, function (offset = 0) {
      check(this, offset, size);
      return readFloat(this, offset, size, little);
    });
    define(`write${kind}${suffix}`, function (value, offset = 0) {
      value = +value;
      check(this, offset, size);
      return writeFloat(this, value, offset, size, little);
    });
  }
}

function checkBig(value, min, max) {
  checkValue(value, min, max, 8);
  if (typeof value !== 'bigint') throw new TypeError('Cannot mix BigInt and other types, use explicit conversions');
}

function swapper(size) {
  const name = `swap${size * 8}`;
  define(name, function () {
    if (this.length % size !== 0) throw nodeError(RangeError, 'ERR_INVALID_BUFFER_SIZE', `Buffer size must be a multiple of ${size * 8}-bits`);
    for (let start = 0; start < this.length; start += size) this.subarray(start, start + size).reverse();
    return this;
  });
}
[2, 4, 8].forEach(swapper);

export default methods;
