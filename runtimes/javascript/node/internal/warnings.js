// `process.emitWarning`, and how a warning is printed.

import { binding } from './binding.js';
import { nextTick } from './task.js';
import { validateString } from './validators.js';
import { invalidArgType } from './errors.js';

let hinted = false;

export function makeEmitWarning(process) {
  function print(warning) {
    if (!(warning instanceof Error)) return;
    const isDeprecation = warning.name === 'DeprecationWarning';
    if (isDeprecation && process.noDeprecation) return;
    const trace = process.traceProcessWarnings || (isDeprecation && process.traceDeprecation);
    const code = warning.code ? `[${warning.code}] ` : '';
    const body = trace && warning.stack ? warning.stack : `${warning.name}: ${warning.message}`;
    let text = `(node:${process.pid}) ${code}${body}\n`;
    if (typeof warning.detail === 'string') text += `${warning.detail}\n`;
    if (!trace && !hinted) {
      hinted = true;
      const flag = isDeprecation ? '--trace-deprecation' : '--trace-warnings';
      text += `(Use \`node ${flag} ...\` to show where the warning was created)\n`;
    }
    binding.writeText(2, text);
  }
  process.on('warning', print);

  return function emitWarning(warning, type, code, ctor) {
    let detail;
    if (type !== null && typeof type === 'object' && !Array.isArray(type)) {
      ctor = type.ctor;
      code = type.code;
      if (typeof type.detail === 'string') detail = type.detail;
      type = type.type || 'Warning';
    } else if (typeof type === 'function') {
      ctor = type;
      code = '';
      type = 'Warning';
    }
    if (type !== undefined) validateString(type, 'type');
    if (typeof code === 'function') {
      ctor = code;
      code = undefined;
    } else if (code !== undefined) {
      validateString(code, 'code');
    }
    if (typeof warning === 'string') {
      const error = new Error(warning);
      error.name = String(type || 'Warning');
      if (code !== undefined) error.code = code;
      if (detail !== undefined) error.detail = detail;
      Error.captureStackTrace(error, ctor || emitWarning);
      warning = error;
    } else if (!(warning instanceof Error)) {
      throw invalidArgType('warning', ['Error', 'string'], warning);
    }
    if (warning.name === 'DeprecationWarning') {
      if (process.noDeprecation) return;
      if (process.throwDeprecation) {
        nextTick(() => { throw warning; });
        return;
      }
    }
    nextTick(() => process.emit('warning', warning));
  };
}
