// How strings are quoted, measured and stripped of escapes when they are shown.

import ansiRegex from 'ansi-regex';
import { eastAsianWidth } from 'get-east-asian-width';

// Control characters, backslashes and surrogates that belong to no pair: the flag `u` lets pairs alone.
const UNPRINTABLE = /[\p{Cc}\p{Cs}\\]/gu;
const UNPRINTABLE_OR_APOSTROPHE = /[\p{Cc}\p{Cs}\\']/gu;

const LETTERS = new Map([
  ['\b', 'b'],
  ['\t', 't'],
  ['\n', 'n'],
  ['\f', 'f'],
  ['\r', 'r'],
]);

function escaped(char) {
  if (char === '\\' || char === "'") return `\\${char}`;
  if (LETTERS.has(char)) return `\\${LETTERS.get(char)}`;
  const digits = char.charCodeAt(0).toString(16);
  return digits.length > 2 ? `\\u${digits}` : `\\x${digits.toUpperCase().padStart(2, '0')}`;
}

/** The text as a literal, in the quotes that need least escaping. */
export function quote(text) {
  if (!text.includes("'")) return `'${text.replace(UNPRINTABLE, escaped)}'`;
  const inside = () => text.replace(UNPRINTABLE, escaped);
  if (!text.includes('"')) return `"${inside()}"`;
  if (!/`|\$\{/.test(text)) return `\`${inside()}\``;
  return `'${escapeControls(text)}'`;
}

export function escapeControls(text) {
  return text.replace(UNPRINTABLE_OR_APOSTROPHE, escaped);
}

const SEQUENCES = ansiRegex();

export function stripControls(text) {
  return text.replace(SEQUENCES, '');
}

// Control and format characters and marks; a soft hyphen (U+00AD) may be visible.
const NO_COLUMN = /^(?!\xad)[\p{Cc}\p{Cf}\p{Me}\p{Mn}]$/u;
// The letters that make flags are narrow for Unicode, and drawn wide.
const FLAG_LETTER = /^\p{Regional_Indicator}$/u;
const ONE_COLUMN_EACH = /^[ -~]*$/;

function columnsOf(char) {
  if (eastAsianWidth(char.codePointAt(0)) === 2 || FLAG_LETTER.test(char)) return 2;
  return NO_COLUMN.test(char) ? 0 : 1;
}

/** How many columns a terminal needs for the text. */
export function width(text, removeControls = true) {
  if (ONE_COLUMN_EACH.test(text)) return text.length;
  const shown = removeControls ? stripControls(text) : text;
  return Array.from(shown.normalize('NFC'), columnsOf).reduce((sum, columns) => sum + columns, 0);
}
