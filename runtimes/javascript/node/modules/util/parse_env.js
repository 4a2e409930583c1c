// util.parseEnv: the content of a .env file.

import { validateString } from '../../internal/validators.js';

const QUOTES = ['"', "'", '`'];

export function parseEnv(content) {
  validateString(content, 'content');
  const result = { __proto__: null };
  let rest = content.replaceAll('\r', '').trim();
  while (rest !== '') {
    if (rest[0] === '#' || rest[0] === '\n') {
      const end = rest.indexOf('\n');
      if (end === -1) break;
      rest = rest.slice(end + 1).trimStart();
      continue;
    }
    const equals = rest.indexOf('=');
    const newline = rest.indexOf('\n');
    if (equals === -1 || (newline !== -1 && newline < equals)) {
      if (newline === -1) break;
      rest = rest.slice(newline + 1).trimStart();
      continue;
    }
    const key = rest
      .slice(0, equals)
      .trim()
      .replace(/^export\s+/, '');
    rest = rest.slice(equals + 1);
    if (key === '') {
      const end = rest.indexOf('\n');
      if (end === -1) break;
      rest = rest.slice(end + 1).trimStart();
      continue;
    }
    const value = readValue(rest);
    result[key] = value.text;
    rest = rest.slice(value.end).trimStart();
  }
  return { ...result };
}

/** The value at the start of `text`, and where it ends. */
function readValue(text) {
  if (text === '' || text[0] === '\n') return { text: '', end: 0 };
  const lead = text.length - text.trimStart().length;
  const body = text.slice(lead);
  const newline = text.indexOf('\n');
  const lineEnd = newline === -1 ? text.length : newline;
  if (lead > lineEnd) return { text: '', end: lineEnd };
  if (QUOTES.includes(body[0])) {
    const close = body.indexOf(body[0], 1);
    if (close !== -1) {
      const inner = body.slice(1, close);
      const after = text.indexOf('\n', lead + close);
      return { text: body[0] === '"' ? inner.replaceAll('\\n', '\n') : inner, end: after === -1 ? text.length : after + 1 };
    }
  }
  let line = text.slice(0, lineEnd);
  const comment = line.indexOf('#');
  if (comment !== -1) line = line.slice(0, comment);
  return { text: line.trim(), end: lineEnd };
}
