// The shortest way from one list of lines to another (Myers' algorithm), for util.diff and for assert's messages.

import { validateString, validateStringArray } from '../../internal/validators.js';

export const DELETE = -1;
export const KEEP = 0;
export const INSERT = 1;

/**
 * Steps as `[operation, line]`, last line first. With `lenient`, lines that differ only in a comma at the end are kept.
 * Keep and insert show the line of `actual`, delete the line of `expected`.
 */
export function myersDiff(actual, expected, lenient = false) {
  const rows = actual.length;
  const columns = expected.length;
  const same = (a, b) => a === b || (lenient && (`${a},` === b || a === `${b},`));
  const most = rows + columns;
  const furthest = new Int32Array(2 * most + 1);
  const trace = [];
  for (let edits = 0; edits <= most; edits++) {
    // Only the diagonals that `edits` can reach matter to the way back.
    trace.push(furthest.slice(most - edits, most + edits + 1));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const at = most + diagonal;
      const down = diagonal === -edits || (diagonal !== edits && furthest[at - 1] < furthest[at + 1]);
      let x = down ? furthest[at + 1] : furthest[at - 1] + 1;
      let y = x - diagonal;
      while (x < rows && y < columns && same(actual[x], expected[y])) {
        x++;
        y++;
      }
      furthest[at] = x;
      if (x >= rows && y >= columns) return walkBack(trace, actual, expected, lenient);
    }
  }
  return [];
}

function walkBack(trace, actual, expected, lenient) {
  const steps = [];
  let x = actual.length;
  let y = expected.length;
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const furthest = trace[edits];
    const get = (diagonal) => furthest[diagonal + edits] ?? 0;
    const diagonal = x - y;
    const down = diagonal === -edits || (diagonal !== edits && get(diagonal - 1) < get(diagonal + 1));
    const previous = down ? diagonal + 1 : diagonal - 1;
    const fromX = edits === 0 ? 0 : get(previous);
    const fromY = edits === 0 ? 0 : fromX - previous;
    while (x > fromX && y > fromY) {
      const line = actual[x - 1];
      // Of two lines that differ in a comma, the one with the comma is shown.
      steps.push([KEEP, lenient && !line.endsWith(',') ? expected[y - 1] : line]);
      x--;
      y--;
    }
    if (edits > 0) {
      if (x > fromX) steps.push([INSERT, actual[--x]]);
      else steps.push([DELETE, expected[--y]]);
    }
  }
  return steps;
}

export function diff(actual, expected) {
  if (actual === expected) return [];
  validate(actual, 'actual');
  validate(expected, 'expected');
  return myersDiff(actual, expected).reverse();
}

function validate(value, name) {
  if (Array.isArray(value)) validateStringArray(value, name);
  else validateString(value, name);
}
