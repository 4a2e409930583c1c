// node:querystring.

import { binding } from '../internal/binding.js';
import { nodeError } from '../internal/errors.js';
import { Buffer } from './buffer/buffer.js';

const UNRESERVED = /^[A-Za-z0-9\-_.!~*'()]*$/;

function qsEscape(str) {
  if (typeof str !== 'string') str = typeof str === 'object' ? String(str) : `${str}`;
  if (UNRESERVED.test(str)) return str;
  try {
    return encodeURIComponent(str);
  } catch {
    throw nodeError(URIError, 'ERR_INVALID_URI', 'URI malformed');
  }
}

/** Like unescape, but never fails: what is no escape stays as it is. */
function unescapeBuffer(s, decodeSpaces) {
  const bytes = binding.utf8Encode(`${s}`);
  const out = Buffer.alloc(bytes.length);
  const digit = (byte) => (byte === undefined ? NaN : parseInt(String.fromCharCode(byte), 16));
  let count = 0;
  for (let at = 0; at < bytes.length; at++) {
    let byte = bytes[at];
    if (decodeSpaces && byte === 0x2b) byte = 0x20;
    else if (byte === 0x25) {
      const value = digit(bytes[at + 1]) * 16 + digit(bytes[at + 2]);
      if (!Number.isNaN(value)) {
        byte = value;
        at += 2;
      }
    }
    out[count++] = byte;
  }
  return out.subarray(0, count);
}

function qsUnescape(s, decodeSpaces) {
  try {
    return decodeURIComponent(s);
  } catch {
    return unescapeBuffer(s, decodeSpaces).toString();
  }
}

function primitive(value) {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
      return Number.isFinite(value) ? `${value}` : '';
    case 'bigint':
    case 'boolean':
      return `${value}`;
    default:
      return '';
  }
}

function stringify(obj, sep, eq, options) {
  sep ||= '&';
  eq ||= '=';
  const encode = typeof options?.encodeURIComponent === 'function' ? options.encodeURIComponent : querystring.escape;
  if (obj === null || typeof obj !== 'object') return '';
  const pairs = [];
  for (const key of Object.keys(obj)) {
    const start = encode(primitive(key)) + eq;
    const value = obj[key];
    for (const each of Array.isArray(value) ? value : [value]) pairs.push(start + encode(primitive(each)));
  }
  return pairs.join(sep);
}

function parse(qs, sep, eq, options) {
  const result = { __proto__: null };
  if (typeof qs !== 'string' || qs.length === 0) return result;
  sep = sep ? `${sep}` : '&';
  eq = eq ? `${eq}` : '=';
  const limit = typeof options?.maxKeys === 'number' ? options.maxKeys : 1000;
  const custom = typeof options?.decodeURIComponent === 'function' && options.decodeURIComponent !== qsUnescape;
  const decode = custom ? options.decodeURIComponent : querystring.unescape;
  const read = (text) => {
    text = text.replaceAll('+', custom ? '%20' : ' ');
    if (!custom && !text.includes('%')) return text;
    try {
      return decode(text);
    } catch {
      return qsUnescape(text, true);
    }
  };
  let parts = qs.split(sep).filter((part) => part !== '');
  if (limit > 0) parts = parts.slice(0, limit);
  for (const part of parts) {
    const at = part.indexOf(eq);
    const key = read(at === -1 ? part : part.slice(0, at));
    const value = at === -1 ? '' : read(part.slice(at + eq.length));
    const current = result[key];
    if (current === undefined) result[key] = value;
    else if (Array.isArray(current)) current.push(value);
    else result[key] = [current, value];
  }
  return result;
}

const querystring = {
  unescapeBuffer,
  unescape: qsUnescape,
  escape: qsEscape,
  stringify,
  encode: stringify,
  parse,
  decode: parse,
};

export default querystring;
