// How the formatted parts of a value are put on lines.

import { stripControls, width } from './text.js';

// In which role a part appears: an object's property, an array's element, an array's further property.
export const PROPERTY = 0;
export const ELEMENT = 1;
export const EXTRA = 2;

/** One line if the parts are few and short enough, else one part (or one row of small parts) a line. */
export function arrange(ctx, parts, base, braces, role, depth, value) {
  if (ctx.compact === true) return arrangeCompact(ctx, parts, base, braces);
  const lead = base ? `${base} ` : '';
  if (typeof ctx.compact === 'number' && ctx.compact >= 1) {
    const count = parts.length;
    if (role === EXTRA && count > 6) parts = inColumns(ctx, parts, value);
    if (ctx.currentDepth - depth < ctx.compact && count === parts.length) {
      // Ten more than the text itself: room for what may stand around it.
      const start = parts.length + ctx.indentation + braces[0].length + base.length + 10;
      if (fits(ctx, parts, start, base)) {
        const line = parts.join(', ');
        if (!line.includes('\n')) return `${lead}${braces[0]} ${line} ${braces[1]}`;
      }
    }
  }
  const indent = `\n${' '.repeat(ctx.indentation)}`;
  return `${lead}${braces[0]}${indent}  ${parts.join(`,${indent}  `)}${indent}${braces[1]}`;
}

function arrangeCompact(ctx, parts, base, braces) {
  if (fits(ctx, parts, 0, base)) return `${braces[0]}${base ? ` ${base}` : ''} ${parts.join(', ')} ${braces[1]}`;
  const indent = `\n${' '.repeat(ctx.indentation)}`;
  const lead = base === '' && braces[0].length === 1 ? ' ' : `${base ? ` ${base}` : ''}${indent}  `;
  return `${braces[0]}${lead}${parts.join(`,${indent}  `)} ${braces[1]}`;
}

function fits(ctx, parts, start, base) {
  let total = parts.length + start;
  if (total + parts.length > ctx.breakLength) return false;
  for (const part of parts) {
    total += ctx.colors ? stripControls(part).length : part.length;
    if (total > ctx.breakLength) return false;
  }
  return base === '' || !base.includes('\n');
}

/** Short elements in columns; the shape aims at a block that is about as wide as it is high. */
function inColumns(ctx, parts, value) {
  // The last part may be `... more items`, which gets a line of its own.
  const hasMore = ctx.maxArrayLength < parts.length;
  const count = hasMore ? parts.length - 1 : parts.length;
  const gap = 2;
  const widths = new Array(count);
  let total = 0;
  let longest = 0;
  for (let index = 0; index < count; index++) {
    const length = width(parts[index], ctx.colors);
    widths[index] = length;
    total += length + gap;
    if (length > longest) longest = length;
  }
  const cell = longest + gap;
  if (cell * 3 + ctx.indentation >= ctx.breakLength || !(total / cell > 5 || longest <= 6)) return parts;
  const bias = Math.sqrt(cell - total / parts.length);
  const typical = Math.max(cell - 3 - bias, 1);
  const columns = Math.min(
    Math.round(Math.sqrt(2.5 * typical * count) / typical),
    Math.floor((ctx.breakLength - ctx.indentation) / cell),
    ctx.compact * 4,
    15,
  );
  if (columns <= 1) return parts;
  const columnWidths = [];
  for (let column = 0; column < columns; column++) {
    let most = 0;
    for (let index = column; index < count; index += columns) if (widths[index] > most) most = widths[index];
    columnWidths.push(most + gap);
  }
  const numbers = value === undefined || parts.every((_, index) => typeof value[index] === 'number' || typeof value[index] === 'bigint');
  const rows = [];
  for (let first = 0; first < count; first += columns) {
    const last = Math.min(first + columns, count) - 1;
    let row = '';
    for (let index = first; index < last; index++) {
      const room = columnWidths[index - first] + parts[index].length - widths[index];
      const text = `${parts[index]}, `;
      row += numbers ? text.padStart(room) : text.padEnd(room);
    }
    const room = columnWidths[last - first] + parts[last].length - widths[last] - gap;
    row += numbers ? parts[last].padStart(room) : parts[last];
    rows.push(row);
  }
  if (hasMore) rows.push(parts[count]);
  return rows;
}
