// Errors under inspection: the stack, made to agree with what the error is called now.

import { formatValue } from './inspect.js';
import { prefix } from './inspect_names.js';
import { classOf } from './types.js';

const errorText = Error.prototype.toString;

const attempt = (read) => {
  try {
    return { value: read() };
  } catch {
    return { failed: true };
  }
};

export function formatError(ctx, error, kind) {
  const { constructor, tag, keys } = kind;
  const read = attempt(() => stackOf(ctx, error));
  if (read.failed) return Object.prototype.toString.call(error);
  let stack = read.value;
  const message = attempt(() => error.message);
  const name = attempt(() => error.name);
  if (!ctx.showHidden) {
    // What the stack says already is not repeated as a property.
    drop(keys, 'stack', true);
    drop(keys, 'message', !message.failed && (typeof message.value !== 'string' || stack.includes(message.value)));
    drop(keys, 'name', !name.failed && (typeof name.value !== 'string' || stack.includes(name.value)));
  }
  if (Object.hasOwn(error, 'cause') && !keys.includes('cause')) keys.push('cause');
  if (Object.hasOwn(error, 'errors') && Array.isArray(attempt(() => error.errors).value) && !keys.includes('errors')) keys.push('errors');
  stack = retitled(stack, constructor, name.value ?? 'Error', tag);
  let end = (message.value && stack.indexOf(message.value)) || -1;
  if (end !== -1) end += message.value.length;
  const framesAt = stack.indexOf('\n    at', end);
  if (framesAt === -1) {
    stack = `[${stack}]`;
  } else {
    const frames = shortenedFrames(ctx, error, stack.slice(framesAt + 1));
    stack = [stack.slice(0, framesAt), ...(ctx.colors ? frames.map((line) => colouredFrame(ctx, line)) : frames)].join('\n');
  }
  return ctx.indentation === 0 ? stack : stack.replaceAll('\n', `\n${' '.repeat(ctx.indentation)}`);
}

function drop(keys, key, condition) {
  const position = condition ? keys.indexOf(key) : -1;
  if (position !== -1) keys.splice(position, 1);
}

function stackOf(ctx, error) {
  const { value: stack } = attempt(() => error.stack);
  if (!stack) return errorText.call(error);
  if (typeof stack === 'string') return stack;
  ctx.seen.push(error);
  ctx.indentation += 4;
  const text = formatValue(ctx, stack, 0);
  ctx.indentation -= 4;
  ctx.seen.pop();
  return `${errorText.call(error)}\n    ${text}`;
}

/** The class's name in the first line, where the stack only has that of a base class. */
function retitled(stack, constructor, name, tag) {
  if (typeof name !== 'string') return stack.replace(`${name}`, `${name} [${prefix(constructor, tag, 'Error').slice(0, -1)}]`);
  let { length } = name;
  const ordinary = name.endsWith('Error') && stack.startsWith(name) && (stack.length === length || stack[length] === ':' || stack[length] === '\n');
  if (constructor !== null && !ordinary) return stack;
  let fallback = 'Error';
  if (constructor === null) {
    const found = /^([A-Z][a-z_ A-Z0-9[\]()-]+)(?::|\n {4}at)/.exec(stack) ?? /^([a-z_A-Z0-9-]*Error)$/.exec(stack);
    fallback = found?.[1] ?? '';
    ({ length } = fallback);
    fallback ||= 'Error';
  }
  const title = prefix(constructor, tag, fallback).slice(0, -1);
  if (name === title) return stack;
  if (!title.includes(name)) return `${title} [${name}]${stack.slice(length)}`;
  return length === 0 ? `${title}: ${stack}` : `${title}${stack.slice(length)}`;
}

/** The frames, without those that the error's cause shows as well. */
function shortenedFrames(ctx, error, text) {
  const frames = text.split('\n');
  const { value: cause } = attempt(() => error.cause);
  if (cause == null || classOf(cause) !== 'Error') return frames;
  const causeStack = stackOf(ctx, cause);
  const start = causeStack.indexOf('\n    at');
  if (start === -1) return frames;
  const causeFrames = causeStack.slice(start + 1).split('\n');
  for (let index = 0; index < frames.length - 3; index++) {
    const position = causeFrames.indexOf(frames[index]);
    if (position === -1 || causeFrames.length - position <= 3) continue;
    let same = 1;
    while (index + same < frames.length && position + same < causeFrames.length && frames[index + same] === causeFrames[position + same]) same++;
    if (same > 3) {
      frames.splice(index + 1, same - 2, ctx.stylize(`    ... ${same - 2} lines matching cause stack trace ...`, 'undefined'));
      break;
    }
  }
  return frames;
}

function colouredFrame(ctx, line) {
  if (/^ {4}at (?:[^/\\(]+ \(|)node:.+:\d+:\d+\)?$/.test(line)) return ctx.stylize(line, 'undefined');
  return line.replace(/(?<=\/node_modules\/)(@[^/]+\/[^/]+|[^/]+)(?=\/)/g, (name) => ctx.stylize(name, 'module'));
}
