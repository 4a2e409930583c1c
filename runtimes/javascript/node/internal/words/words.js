// The interpreter's errors in V8's words: scripts print them, and some look into them.

import { sourceLine } from '../sources.js';
import { inspect } from '../../modules/util/inspect.js';
import { specifierOf } from '../loader/links.js';
import { calleeAt } from './callee.js';
import { circleWords } from './circle.js';
import { jsonWords } from './json.js';

const FIXED = {
  __proto__: null,
  'cannot convert to object': 'Cannot convert undefined or null to object',
  'null or undefined are forbidden': 'Cannot convert undefined or null to object',
  'invalid array length': 'Invalid array length',
  'invalid string length': 'Invalid string length',
  'invalid array buffer length': 'Array buffer allocation failed',
  'invalid number of digits': 'toFixed() digits argument must be between 0 and 100',
  'cannot convert symbol to string': 'Cannot convert a Symbol value to a string',
  'cannot convert symbol to number': 'Cannot convert a Symbol value to a number',
  'cannot convert BigInt to number': 'Cannot convert a BigInt value to a number',
  'bigint argument with unary +': 'Cannot convert a BigInt value to a number',
  'promise self resolution': 'Chaining cycle detected for promise #<Promise>',
  'circular prototype chain': 'Cyclic __proto__ value',
  'unexpected end of string': 'Invalid or unexpected token',
  'unexpected end of comment': 'Invalid or unexpected token',
  'unexpected end of regexp': 'Invalid regular expression: missing /',
  'unexpected line terminator in regexp': 'Invalid regular expression: missing /',
  'unexpected character': 'Invalid or unexpected token',
  'invalid number literal': 'Invalid or unexpected token',
  'return not in a function': 'Illegal return statement',
  'break must be inside loop or switch': 'Illegal break statement',
  'continue must be inside loop': 'Illegal continue statement: no surrounding iteration statement',
  'missing initializer for variable': 'Missing initializer in const declaration',
  'invalid assignment left-hand side': 'Invalid left-hand side in assignment',
  'invalid increment/decrement operand': 'Invalid left-hand side expression in postfix operation',
  'expecting catch or finally': 'Missing catch or finally after try',
  'rest element must be the last one': 'Rest element must be last element',
  "super() is only valid in a derived class constructor": "'super' keyword unexpected here",
  'new.target only allowed within functions': 'new.target expression is not allowed here',
  'import.meta only valid in module code': "Cannot use 'import.meta' outside a module",
  'expecting hex digit': 'URI malformed',
  'malformed UTF-8': 'URI malformed',
  'invalid character': 'URI malformed',
  'iterator must return an object': 'Iterator result undefined is not an object',
  'cannot delete a direct reference in strict mode': 'Delete of an unqualified identifier in strict mode.',
  'empty array': 'Reduce of empty array with no initial value',
  'Date value is NaN': 'Invalid time value',
  'bad normalization form': 'The normalization form should be one of NFC, NFD, NFKC, NFKD.',
  'BigInt are forbidden in JSON.stringify': 'Do not know how to serialize a BigInt',
};

const NON_OBJECT = {
  __proto__: null,
  defineProperty: 'Object.defineProperty called on non-object',
  defineProperties: 'Object.defineProperties called on non-object',
  create: 'Object prototype may only be an Object or null: undefined',
  setPrototypeOf: 'Object prototype may only be an Object or null',
  ownKeys: 'Reflect.ownKeys called on non-object',
  Proxy: 'Cannot create proxy with a non-object as target or handler',
  Map: 'Iterator value is not an entry object',
  resolve: 'PromiseResolve called on non-object',
};

const lineAt = (file, line) => (file === undefined ? undefined : sourceLine(file, line));

function shown(value) {
  if (typeof value === 'string') return JSON.stringify(value);
  if (value !== null && typeof value === 'object') return `#<${value.constructor?.name ?? 'Object'}>`;
  return typeof value === 'function' ? String(value) : inspect(value);
}

/** A value as V8 names what it cannot use: primitives with their type. */
function typed(value) {
  return typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean' ? `${typeof value} ${shown(value)}` : shown(value);
}

function ofTypeError(message, at) {
  if (/^cannot read property 'Symbol\.(asyncI|i)terator' of/.test(message)) return `${message.slice(message.lastIndexOf(' ') + 1)} is not iterable`;
  const property = /^cannot (read|set) property '(.*)' of (null|undefined)$/s.exec(message);
  if (property) {
    const [, verb, name, what] = property;
    return `Cannot ${verb} properties of ${what} (${verb === 'read' ? 'reading' : 'setting'} '${name}')`;
  }
  if (message === 'not a constructor' || (message === 'not a function' && at.text?.startsWith('new ', at.column - 1))) {
    const match = at.text && /^new\s+([\w$.[\]]+)/.exec(at.text.slice(at.column - 1));
    return match ? `${match[1]} is not a constructor` : undefined;
  }
  if (message === 'not a function') {
    if (at.native === 'Promise') return `Promise resolver ${shown(at.argument)} is not a function`;
    if (at.native) return `${typed(at.argument)} is not a function`;
    return at.text === undefined ? undefined : `${calleeAt(at.text, at.column)} is not a function`;
  }
  if (message.startsWith('class constructors must')) {
    const name = at.text && calleeAt(at.text, at.column).split('.').pop();
    return name ? `Class constructor ${name} cannot be invoked without 'new'` : undefined;
  }
  if (message === 'value is not iterable') {
    if (at.native) return `${typed(at.argument)} is not iterable (cannot read property Symbol(Symbol.iterator))`;
    const name = at.text && /^[\w$.]+/.exec(at.text.slice(at.column - 1))?.[0];
    return name ? `${name} is not iterable` : 'object is not iterable';
  }
  const readOnly = /^'(.*)' is read-only$/s.exec(message);
  if (readOnly) {
    const isVariable = at.text !== undefined && at.text.split(readOnly[1]).slice(0, -1).some((part) => !/[.\]\w$]$/.test(part));
    return isVariable ? 'Assignment to constant variable.' : `Cannot assign to read only property '${readOnly[1]}' of object '#<Object>'`;
  }
  if (message === 'object is not extensible') {
    const name = at.text && /\.([\w$]+)\s*=[^=]/.exec(at.text)?.[1];
    return name ? `Cannot add property ${name}, object is not extensible` : undefined;
  }
  if (message === 'circular reference') return circleWords(at.argument);
  if (message === 'not an object' && NON_OBJECT[at.native]) return NON_OBJECT[at.native];
  if (message === 'must be called with new') return at.native === 'Promise' ? "Promise constructor cannot be invoked without 'new'" : `Constructor ${at.native} requires 'new'`;
  if (message === 'cannot convert BigInt to number' && !at.native) return 'Cannot mix BigInt and other types, use explicit conversions';
  if (message === 'parent class must be constructor') {
    return `Class extends value ${/\bextends\s+(\d+|null|true|false)/.exec(at.text ?? '')?.[1] ?? 'undefined'} is not a constructor or null`;
  }
  if (message === "invalid 'instanceof' right operand") return "Right-hand side of 'instanceof' is not an object";
  return undefined;
}

function ofSyntaxError(message, at) {
  let match = /^unexpected token in expression: '(.*)'$/s.exec(message) ?? /^unexpected token: '(.*)'$/s.exec(message);
  if (match) return match[1] === '' ? 'Unexpected end of input' : unexpected(match[1]);
  match = /^expecting '(.)'$/.exec(message);
  if (match) {
    const token = at.text && /^(?:[\p{ID_Start}$][\p{ID_Continue}$]*|\d[\w.]*|'[^']*'|"[^"]*"|=>|[=!]==?|&&|\|\||.)/u.exec(at.text.slice(at.column - 1))?.[0];
    if (!token) return 'Unexpected end of input';
    return match[1] === ')' && /^[\p{ID_Start}$\d'"]/u.test(token) ? 'missing ) after argument list' : unexpected(token);
  }
  if (message === 'invalid redefinition of lexical identifier' || message === 'invalid redefinition of a variable' || message === 'invalid redefinition of global identifier') {
    const name = at.text && /([\p{ID_Start}$][\p{ID_Continue}$]*)[^\p{ID_Continue}$]*$/u.exec(at.text.slice(0, at.column - 1))?.[1];
    return name ? `Identifier '${name}' has already been declared` : undefined;
  }
  if (message === 'invalid destructuring target' && /\d$/.test(at.text?.slice(0, at.column - 1) ?? '')) return 'Unexpected number';
  match = /^Could not find export '(.*)' in module '(.*)'$/s.exec(message);
  if (match) return `The requested module '${specifierOf(match[1], match[2])}' does not provide an export named '${match[1]}'`;
  return undefined;
}

function unexpected(token) {
  if (/^['"]/.test(token)) return 'Unexpected string';
  if (/^\d/.test(token)) return 'Unexpected number';
  if (/^`/.test(token)) return 'Unexpected template string';
  if (RESERVED.test(token)) return `Unexpected token '${token}'`;
  return /^[\p{ID_Start}$]/u.test(token) ? `Unexpected identifier '${token}'` : `Unexpected token '${token}'`;
}

const RESERVED = /^(?:break|case|catch|class|const|continue|debugger|default|delete|do|else|export|extends|false|finally|for|function|if|import|in|instanceof|new|null|return|super|switch|this|throw|true|try|typeof|var|void|while|with)$/;

/** Called by the engine for each error that it makes itself. */
export function words(name, message, file, line, column, native, argument) {
  const at = { text: lineAt(file, line), column, argument, native };
  if (name === 'TypeError') return ofTypeError(message, at) ?? FIXED[message] ?? undefined;
  if (name === 'SyntaxError') {
    if (native === 'parse') return jsonWords(`${argument}`);
    if (native === 'RegExp' || native === 'compile') return `Invalid regular expression: /${argument?.source ?? argument}/: ${message === "expecting ')'" ? 'Unterminated group' : capital(message)}`;
    if (native === 'eval') at.text = `${argument}`.split('\n')[line - 1];
    return ofSyntaxError(message, at) ?? FIXED[message] ?? undefined;
  }
  if (name === 'ReferenceError') {
    const match = /^(.*) is not initialized$/s.exec(message);
    if (match) return `Cannot access '${match[1]}' before initialization`;
    if (file?.startsWith('file:')) return inModule(message);
  }
  if (message === 'invalid repeat count') return `Invalid count value: ${argument}`;
  if (message === 'cannot convert to BigInt: not an integer') return `The number ${argument} cannot be converted to a BigInt because it is not an integer`;
  return FIXED[message] ?? undefined;
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** What CommonJS has and ES modules have not. */
function inModule(message) {
  const match = /^(require|module|exports|__filename|__dirname) is not defined$/.exec(message);
  if (!match) return undefined;
  return match[1] === 'require' ? 'require is not defined in ES module scope, you can use import instead' : `${match[1]} is not defined in ES module scope`;
}
