// The errors of the package readable-stream, replaced by Node's own before it takes them.

import errors from 'readable-stream/lib/ours/errors.js';
import { invalidArgType, nodeError } from '../../internal/errors.js';

const { codes } = errors;
const ANY_BYTES = ['string', 'Buffer', 'TypedArray', 'DataView'];

for (const [code, Original] of Object.entries(codes)) {
  const Base = Object.getPrototypeOf(Original.prototype).constructor;
  codes[code] = function (...args) {
    return nodeError(Base, code, new Original(...args).message);
  };
}

codes.ERR_INVALID_ARG_TYPE = function (name, expected, actual) {
  return invalidArgType(name, Array.isArray(expected) && expected.includes('Uint8Array') ? ANY_BYTES : expected, actual);
};
