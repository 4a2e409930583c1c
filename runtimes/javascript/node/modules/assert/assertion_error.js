// AssertionError, and the words in which it says how two values differ.

import { validateObject } from '../../internal/validators.js';
import { INSERT, KEEP, myersDiff } from '../util/diff.js';
import { inspect } from '../util/inspect.js';

const READABLE = {
  deepStrictEqual: 'Expected values to be strictly deep-equal:',
  partialDeepStrictEqual: 'Expected values to be partially and strictly deep-equal:',
  strictEqual: 'Expected values to be strictly equal:',
  strictEqualObject: 'Expected "actual" to be reference-equal to "expected":',
  deepEqual: 'Expected values to be loosely deep-equal:',
  notDeepStrictEqual: 'Expected "actual" not to be strictly deep-equal to:',
  notStrictEqual: 'Expected "actual" to be strictly unequal to:',
  notStrictEqualObject: 'Expected "actual" not to be reference-equal to "expected":',
  notDeepEqual: 'Expected "actual" not to be loosely deep-equal to:',
  notIdentical: 'Values have same structure but are not reference-equal:',
  notDeepEqualUnequal: 'Expected values not to be loosely deep-equal:',
};
const WITH_DIFF = new Set(['deepStrictEqual', 'strictEqual', 'partialDeepStrictEqual']);

// Values up to this length together are shown on one line.
const SHORT = 12;
// Longer texts are cut in the message.
const LONG = 512;
// So many equal lines are shown on either side of a difference.
const CONTEXT = 5;

const isObject = (value) => typeof value === 'object' && value !== null;

function shown(value) {
  return inspect(value, {
    compact: false,
    customInspect: false,
    depth: 1000,
    maxArrayLength: Infinity,
    showHidden: false,
    showProxy: false,
    sorted: true,
    getters: true,
  });
}

/** The same error without a stack, so that the stack is not compared. */
function copyError(source) {
  const target = Object.assign({ __proto__: Object.getPrototypeOf(source) }, source);
  Object.defineProperty(target, 'message', { value: source.message });
  if (Object.hasOwn(source, 'cause')) {
    const { cause } = source;
    Object.defineProperty(target, 'cause', { value: cause instanceof Error ? copyError(cause) : cause });
  }
  return target;
}

function simpleDiff(actual, actualText, expected, expectedText) {
  const bothText = typeof actual === 'string' && typeof expected === 'string';
  let length = actualText.length + expectedText.length;
  if (typeof actual === 'string') length -= 2;
  if (typeof expected === 'string') length -= 2;
  if (length <= SHORT && (actual !== 0 || expected !== 0)) return { message: `${actualText} !== ${expectedText}`, header: '' };
  let message = `\n+ ${actualText}\n- ${expectedText}`;
  if (bothText && actualText.length + expectedText.length <= 80) {
    let at = 0;
    while (at < actualText.length && actualText[at] === expectedText[at]) at++;
    // A difference in the first letters is plain to see.
    if (at >= 3 && at < actualText.length) message += `\n${' '.repeat(at + 2)}^`;
  }
  return { message };
}

/** The steps as lines; long stretches without a difference are left out. */
function printed(steps) {
  let message = '';
  let skipped = false;
  let kept = [];
  const settle = () => {
    const { length } = kept;
    if (length > CONTEXT + 2) {
      message += `...\n  ${kept[length - 1]}\n`;
      skipped = true;
    } else {
      for (const line of kept.slice(CONTEXT)) message += `  ${line}\n`;
    }
    kept = [];
  };
  for (const [operation, line] of steps.toReversed()) {
    if (operation === KEEP) {
      if (kept.length < CONTEXT) message += `  ${line}\n`;
      kept.push(line);
      continue;
    }
    settle();
    message += operation === INSERT ? `+ ${line}\n` : `- ${line}\n`;
  }
  return { message: `\n${message.trimEnd()}`, skipped };
}

function difference(actual, expected, operator, customMessage, diff) {
  const bothObjects = isObject(actual) && isObject(expected);
  if (operator === 'strictEqual' && (bothObjects || (typeof actual === 'function' && typeof expected === 'function'))) operator = 'strictEqualObject';
  const actualText = shown(actual);
  const expectedText = shown(expected);
  const actualLines = actualText.split('\n');
  const expectedLines = expectedText.split('\n');
  let header = '+ actual - expected';
  let message;
  let skipped = false;
  if (actualLines.length === 1 && expectedLines.length === 1 && !bothObjects) {
    const simple = simpleDiff(actual, actualText, expected, expectedText);
    ({ message } = simple);
    header = simple.header ?? header;
  } else if (actualText === expectedText) {
    operator = 'notIdentical';
    skipped = actualLines.length > 50 && diff !== 'full';
    message = skipped ? `${actualLines.slice(0, 50).join('\n')}\n...}` : actualText;
    header = '';
  } else {
    ({ message, skipped } = printed(myersDiff(actualLines, expectedLines, isObject(actual))));
  }
  return `${customMessage || READABLE[operator]}\n${header}${skipped ? '\n... Skipped lines' : ''}\n${message}\n`;
}

function unequalMessage(actual, operator, diff) {
  let base = READABLE[operator];
  if (operator === 'notStrictEqual' && (isObject(actual) || typeof actual === 'function')) base = READABLE.notStrictEqualObject;
  let lines = shown(actual).split('\n');
  if (lines.length > 50 && diff !== 'full') lines = [...lines.slice(0, 46), '...'];
  if (lines.length === 1) return `${base}${lines[0].length > 5 ? '\n\n' : ' '}${lines[0]}`;
  return `${base}\n\n${lines.join('\n')}\n`;
}

function otherMessage(actual, expected, operator, diff) {
  const cut = (text, length) => (text.length > length && diff !== 'full' ? `${text.slice(0, length - 3)}...` : text);
  const left = shown(actual);
  const right = shown(expected);
  const known = READABLE[operator];
  if (operator === 'notDeepEqual' && left === right) return cut(`${known}\n\n${left}`, 1024);
  if (operator === 'deepEqual') return `${known}\n\n${cut(left, LONG)}\n\nshould loosely deep-equal\n\n${cut(right, LONG)}`;
  const unequal = READABLE[`${operator}Unequal`];
  if (unequal) return `${unequal}\n\n${cut(left, LONG)}\n\nshould not loosely deep-equal\n\n${cut(right, LONG)}`;
  return `${cut(left, LONG)} ${operator} ${cut(right, LONG)}`;
}

function messageFor({ message, operator, diff }, actual, expected) {
  if (WITH_DIFF.has(operator)) return difference(actual, expected, operator, message ?? undefined, diff);
  if (message != null) return String(message);
  if (operator === 'notDeepStrictEqual' || operator === 'notStrictEqual') return unequalMessage(actual, operator, diff);
  return otherMessage(actual, expected, operator, diff);
}

const HIDDEN = { enumerable: false, writable: true, configurable: true };

export class AssertionError extends Error {
  constructor(options) {
    validateObject(options, 'options');
    const { message, operator, stackStartFn, stackStartFunction, details, diff = 'simple' } = options;
    let { actual, expected } = options;
    if (message == null && actual instanceof Error && expected instanceof Error) {
      actual = copyError(actual);
      expected = copyError(expected);
    }
    super(messageFor({ message, operator, diff }, actual, expected));
    this.generatedMessage = !message;
    this.code = 'ERR_ASSERTION';
    if (details) {
      this.actual = this.expected = this.operator = undefined;
      details.forEach((detail, index) => {
        for (const key of ['message', 'actual', 'expected', 'operator']) this[`${key} ${index}`] = detail[key];
        this[`stack trace ${index}`] = detail.stack;
      });
    } else {
      this.actual = actual;
      this.expected = expected;
      this.operator = operator;
    }
    // The stack takes the name that the error has when it is first read: with the code, which the name then loses.
    Object.defineProperty(this, 'name', { value: 'AssertionError [ERR_ASSERTION]', ...HIDDEN });
    Error.captureStackTrace(this, stackStartFn || stackStartFunction);
    void this.stack;
    this.name = 'AssertionError';
    this.diff = diff;
  }

  toString() {
    return `${this.name} [${this.code}]: ${this.message}`;
  }

  [inspect.custom](depth, ctx) {
    // The values are in the message already: here they are only hinted at.
    const { actual, expected } = this;
    const cut = (value) => (typeof value === 'string' ? ellipsis(value) : value);
    this.actual = cut(actual);
    this.expected = cut(expected);
    const text = inspect(this, { ...ctx, customInspect: false, depth: 0 });
    this.actual = actual;
    this.expected = expected;
    return text;
  }
}

function ellipsis(text) {
  const lines = text.split('\n', 11);
  if (lines.length > 10) return `${lines.slice(0, 10).join('\n')}\n...`;
  return text.length > LONG ? `${text.slice(LONG)}...` : text;
}
