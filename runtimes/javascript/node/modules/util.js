// node:util.

import { invalidArgType, nodeError, outOfRange } from '../internal/errors.js';
import { validateAbortSignal, validateNumber, validateObject, validateOneOf, validateString } from '../internal/validators.js';
import { AbortController } from '../globals/abort.js';
import { TextDecoder, TextEncoder } from '../globals/encoding.js';
import { signals } from './os/constants.js';
import { debuglog } from './util/debuglog.js';
import { diff } from './util/diff.js';
import { isDeepStrictEqual } from './util/equality.js';
import { format, formatWithOptions } from './util/format.js';
import { callbackify, deprecate, inherits, promisify } from './util/functions.js';
import { inspect } from './util/inspect.js';
import { MIMEParams, MIMEType } from './util/mime.js';
import { parseArgs } from './util/parse_args.js';
import { parseEnv } from './util/parse_env.js';
import { styleText } from './util/style_text.js';
import { SYSTEM_ERRORS } from './util/system_errors.js';
import { stripControls } from './util/text.js';
import types from './util/types.js';

function systemError(number) {
  validateNumber(number, 'err');
  if (number >= 0 || !Number.isSafeInteger(number)) throw outOfRange('err', 'a negative integer', number);
  return SYSTEM_ERRORS.find(([each]) => each === number);
}

function getSystemErrorName(err) {
  return systemError(err)?.[1] ?? `Unknown system error ${err}`;
}

function getSystemErrorMessage(err) {
  return systemError(err)?.[2] ?? `Unknown system error ${err}`;
}

function getSystemErrorMap() {
  return new Map(SYSTEM_ERRORS.map(([number, name, message]) => [number, [name, message]]));
}

function _errnoException(err, syscall, original) {
  const code = getSystemErrorName(err);
  const error = new Error(original ? `${syscall} ${code} ${original}` : `${syscall} ${code}`);
  return Object.assign(error, { errno: err, code, syscall });
}

function _exceptionWithHostPort(err, syscall, address, port, additional) {
  const code = getSystemErrorName(err);
  const details = port && port > 0 ? ` ${address}:${port}` : address ? ` ${address}` : '';
  const error = new Error(`${syscall} ${code}${details}${additional ? ` - Local (${additional})` : ''}`);
  Object.assign(error, { errno: err, code, syscall, address });
  if (port) error.port = port;
  return error;
}

function _extend(target, source) {
  if (source === null || typeof source !== 'object') return target;
  return Object.assign(target, source);
}

function convertProcessSignalToExitCode(signalCode) {
  validateOneOf(signalCode, 'signalCode', Object.keys(signals));
  return 128 + signals[signalCode];
}

function stripVTControlCharacters(str) {
  validateString(str, 'str');
  return stripControls(str);
}

/** Where the calls come from; the engine's own text is all there is to read. */
function getCallSites(frameCount = 8, options = undefined) {
  if (typeof frameCount === 'object') {
    options = frameCount;
    frameCount = 8;
  }
  if (options !== undefined) validateObject(options, 'options');
  validateNumber(frameCount, 'frameCount', 1, 200);
  const before = Error.stackTraceLimit;
  Error.stackTraceLimit = frameCount + 1;
  const { stack } = new Error('sites');
  Error.stackTraceLimit = before;
  return stack
    .split('\n')
    .map((line) => /^ {4}at (?:(.*) \()?(.*?):(\d+):(\d+)\)?$/.exec(line))
    .filter((match) => match && match[1] !== 'getCallSites')
    .slice(0, frameCount)
    .map(([, functionName = '', scriptName, line, column]) => ({
      functionName,
      scriptId: '0',
      scriptName,
      lineNumber: +line,
      columnNumber: +column,
      column: +column,
    }));
}

async function aborted(signal, resource) {
  if (signal === undefined) throw invalidArgType('signal', 'AbortSignal', signal);
  validateAbortSignal(signal, 'signal');
  validateObject(resource, 'resource', { allowFunction: true });
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

function transferableAbortSignal(signal) {
  if (signal?.aborted === undefined) throw invalidArgType('signal', 'AbortSignal', signal);
  return signal;
}

function transferableAbortController() {
  return new AbortController();
}

function setTraceSigInt() {
  throw nodeError(Error, 'ERR_METHOD_NOT_IMPLEMENTED', 'util.setTraceSigInt is not implemented in the sandbox: there are no signals');
}

const util = {
  _errnoException,
  _exceptionWithHostPort,
  _extend: deprecate(_extend, 'The `util._extend` API is deprecated. Please use Object.assign() instead.', 'DEP0060'),
  callbackify,
  convertProcessSignalToExitCode,
  debug: debuglog,
  debuglog,
  deprecate,
  format,
  styleText,
  formatWithOptions,
  getCallSites,
  getSystemErrorMap,
  getSystemErrorName,
  getSystemErrorMessage,
  inherits,
  inspect,
  isArray: deprecate(Array.isArray, 'The `util.isArray` API is deprecated. Please use `Array.isArray()` instead.', 'DEP0044'),
  isDeepStrictEqual,
  promisify,
  stripVTControlCharacters,
  toUSVString(input) {
    return `${input}`.toWellFormed();
  },
  transferableAbortSignal,
  transferableAbortController,
  aborted,
  types,
  parseEnv,
  parseArgs,
  TextDecoder,
  TextEncoder,
  MIMEType,
  MIMEParams,
  diff,
  setTraceSigInt,
};

export default util;
