// The clock behind `performance` and event times: milliseconds since the run began.

import { binding } from '../internal/binding.js';
import { atStart } from '../internal/start.js';

let origin = 0n;
let originUnix = 0;
const { now: unixNow } = Date;

atStart(() => {
  origin = binding.hrtime();
  originUnix = unixNow();
});

/** Milliseconds since the run began, with fractions. */
export function now() {
  return Number(binding.hrtime() - origin) / 1e6;
}

/** When the run began, in milliseconds since 1970. */
export function timeOrigin() {
  return originUnix;
}
