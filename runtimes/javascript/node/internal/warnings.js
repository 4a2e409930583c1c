// `process.emitWarning`, and how a warning is printed.

import { binding } from './binding.js';
import { nextTick } from './task.js';
import { validateString } from './validators.js';
import { invalidArgType } from './errors.js';

let hinted = false;

export function makeEmitWarning(process) {
  const isSilenced = ({ name }) => name === 'DeprecationWarning' && process.noDeprecation;

  process.on('warning', (warning) => {
    if (warning instanceof Error && !isSilenced(warning)) binding.writeText(2, printed(process, warning));
  });

  return function emitWarning(warning, type, code, ctor) {
    const options = optionsOf(type, code, ctor);
    const emitted = typeof warning === 'string' ? makeWarning(warning, options, emitWarning) : warning;
    if (!(emitted instanceof Error)) throw invalidArgType('warning', ['Error', 'string'], warning);
    if (isSilenced(emitted)) return;
    const thrown = emitted.name === 'DeprecationWarning' && process.throwDeprecation;
    nextTick(() => {
      if (thrown) throw emitted;
      process.emit('warning', emitted);
    });
  };
}

/** What follows the warning: options, or a type and a code, each of which a constructor may follow. */
function optionsOf(type, code, ctor) {
  if (type !== null && typeof type === 'object' && !Array.isArray(type)) return checked({ ...type, type: type.type || 'Warning' });
  if (typeof type === 'function') return checked({ type: 'Warning', code: '', ctor: type });
  if (typeof code === 'function') return checked({ type, ctor: code });
  return checked({ type, code, ctor });
}

function checked(options) {
  for (const name of ['type', 'code']) {
    if (options[name] !== undefined) validateString(options[name], name);
  }
  return options;
}

function makeWarning(message, { type, code, detail, ctor }, emitWarning) {
  const made = new Error(message);
  made.name = type || 'Warning';
  if (code !== undefined) made.code = code;
  if (typeof detail === 'string') made.detail = detail;
  Error.captureStackTrace(made, ctor || emitWarning);
  return made;
}

function printed(process, { name, message, code, stack, detail }) {
  const deprecation = name === 'DeprecationWarning';
  const trace = process.traceProcessWarnings || (deprecation && process.traceDeprecation);
  const lines = [`(node:${process.pid}) ${code ? `[${code}] ` : ''}${(trace && stack) || `${name}: ${message}`}`];
  if (typeof detail === 'string') lines.push(detail);
  if (!trace && !hinted) {
    hinted = true;
    lines.push(`(Use \`node --trace-${deprecation ? 'deprecation' : 'warnings'} ...\` to show where the warning was created)`);
  }
  return `${lines.join('\n')}\n`;
}
