// util.debuglog: messages that only NODE_DEBUG turns on.

import process from '../process.js';
import { format, formatWithOptions } from './format.js';
import { shouldColorize } from './style_text.js';

/** Whether NODE_DEBUG, a list with `*` as wild card, names the section. */
function isOn(section) {
  const wanted = process.env.NODE_DEBUG;
  if (!wanted) return false;
  const pattern = wanted
    .replace(/[|\\{}()[\]^$+?.]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll(',', '$|^');
  return new RegExp(`^${pattern}$`, 'i').test(section);
}

export function debuglog(section, callback) {
  section = section.toUpperCase();
  let enabled;
  const test = () => (enabled ??= isOn(section));
  const logger = (...args) => {
    if (!test()) return;
    const colors = shouldColorize(process.stderr);
    const text = colors ? formatWithOptions({ colors }, ...args) : format(...args);
    process.stderr.write(`${section} ${process.pid}: ${text}\n`);
  };
  let first = true;
  const debug = (...args) => {
    if (first) {
      first = false;
      if (test() && typeof callback === 'function') callback(logger);
    }
    logger(...args);
  };
  Object.defineProperty(debug, 'enabled', { get: test, configurable: true, enumerable: true });
  return debug;
}
