// atob and btoa.

import { missingArgs } from '../internal/errors.js';
import { binding } from '../internal/binding.js';
import { DOMException } from './dom_exception.js';

const { fromBase64 } = Uint8Array;
const { toBase64 } = Uint8Array.prototype;

const invalidCharacter = () => new DOMException('Invalid character', 'InvalidCharacterError');

export function btoa(input) {
  if (arguments.length === 0) throw missingArgs('input');
  const text = `${input}`;
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 255) throw invalidCharacter();
  const bytes = new Uint8Array(text.length);
  binding.latin1Write(text, bytes, 0, bytes.length);
  return Reflect.apply(toBase64, bytes, []);
}

export function atob(input) {
  if (arguments.length === 0) throw missingArgs('input');
  const text = `${input}`.replace(/[\t\n\f\r ]/g, '');
  if (/[^A-Za-z0-9+/=]/.test(text)) throw invalidCharacter();
  const body = text.length % 4 === 0 ? text.replace(/={1,2}$/, '') : text;
  if (body.includes('=')) throw invalidCharacter();
  if (body.length % 4 === 1) {
    throw new DOMException('The string to be decoded is not correctly encoded.', 'InvalidCharacterError');
  }
  const bytes = Reflect.apply(fromBase64, Uint8Array, [body, { lastChunkHandling: 'loose' }]);
  return binding.latin1Decode(bytes, 0, bytes.length);
}
