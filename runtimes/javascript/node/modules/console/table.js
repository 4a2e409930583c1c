// `console.table`: rows and columns in a frame.

import { width as getStringWidth } from '../util/text.js';
import { inspect } from '../util/inspect.js';
import { binding } from '../../internal/binding.js';

const INDEX = '(index)';
const ITERATION = '(iteration index)';
const KEY = 'Key';
const VALUES = 'Values';

function frame(head, columns) {
  const rows = Math.max(...columns.map((column) => column.length));
  const widths = head.map((name, i) => {
    let width = getStringWidth(name);
    for (let row = 0; row < rows; row++) width = Math.max(width, getStringWidth(columns[i][row] ?? ''));
    return width + 2;
  });
  const rules = widths.map((width) => '─'.repeat(width));
  const line = (cells) => `│${cells.map((cell, i) => ` ${cell}${' '.repeat(widths[i] - getStringWidth(cell) - 1)}`).join('│')}│`;
  const lines = [`┌${rules.join('┬')}┐`, line(head), `├${rules.join('┼')}┤`];
  for (let row = 0; row < rows; row++) lines.push(line(columns.map((column) => column[row] ?? '')));
  lines.push(`└${rules.join('┴')}┘`);
  return lines.join('\n');
}

/** The text of a table; undefined for what is no table. */
export function table(data, properties, options) {
  const show = (value) => {
    const depth = value !== null && typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length > 2 ? -1 : 0;
    return inspect(value, { maxArrayLength: 3, breakLength: Infinity, colors: false, ...options, depth });
  };
  const kind = binding.className(data);
  if (kind === 'Map' || kind === 'Map Iterator') {
    const [entries, isPairs] = binding.previewEntries(data);
    if (kind === 'Map' || isPairs) {
      const keys = [];
      const values = [];
      for (let i = 0; i < entries.length; i += 2) {
        keys.push(show(entries[i]));
        values.push(show(entries[i + 1]));
      }
      return frame([ITERATION, KEY, VALUES], [keys.map((_, i) => `${i}`), keys, values]);
    }
    return frame([ITERATION, VALUES], [entries.map((_, i) => `${i}`), entries.map(show)]);
  }
  if (kind === 'Set' || kind === 'Set Iterator') {
    const values = binding.previewEntries(data)[0].map(show);
    return frame([ITERATION, VALUES], [values.map((_, i) => `${i}`), values]);
  }

  const columns = new Map();
  const plain = [];
  let hasPlain = false;
  const index = Object.keys(data);
  index.forEach((key, row) => {
    const item = data[key];
    const isPlain = item === null || (typeof item !== 'function' && typeof item !== 'object');
    if (isPlain && properties === undefined) {
      hasPlain = true;
      plain[row] = show(item);
      return;
    }
    for (const name of properties ?? Object.keys(item)) {
      if (!columns.has(name)) columns.set(name, []);
      const has = !isPlain && Object.hasOwn(item, name);
      columns.get(name)[row] = has ? show(item[name]) : '';
    }
  });
  const head = [INDEX, ...columns.keys()];
  const body = [index, ...columns.values()];
  if (hasPlain) {
    head.push(VALUES);
    body.push(plain);
  }
  return frame(head, body);
}
