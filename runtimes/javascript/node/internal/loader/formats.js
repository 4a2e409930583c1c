// What kind of module a file is, and its text as JavaScript.

import { binding } from '../binding.js';
import { nodeError } from '../errors.js';
import { rememberSource } from '../sources.js';
import posix from '../../modules/path.js';
import { decode, readBytes } from './files.js';
import { packageOf } from './packages.js';
import { isTypeScript } from './resolve.js';
import { decorate, placeOf } from './syntax.js';
import { pathOf } from './urls.js';

const { extname } = posix;
const { apply } = Reflect;
const { get, set } = Map.prototype;
const { test } = RegExp.prototype;

const WRAPPER = 'exports, require, module, __filename, __dirname';
// Without any of these a file is no ES module, and a parser's error in it is what it seems.
const MODULE_SYNTAX = /(?:^|[;}]|\*\/)\s*(?:import|export)\b|\bimport\.meta\b|\bawait\b/m;

const BY_EXTENSION = { '.mjs': 'module', '.mts': 'module', '.cjs': 'commonjs', '.cts': 'commonjs', '.json': 'json', '.node': 'addon', '.wasm': 'wasm' };

// The main script, which the host has read and checked: path and bytes.
let main = null;

export function setMainSource(file, bytes) {
  main = { file, bytes };
}

const known = new Map();

/** A file, read once: its text, and in time its format, its compiled body or why it is no CommonJS. */
export function sourceOf(file) {
  let source = apply(get, known, [file]);
  if (!source) {
    const bytes = main && main.file === file ? main.bytes : readBytes(file);
    if (main && main.file === file) main = null;
    source = { file, bytes, original: decode(bytes), text: null, format: null, body: null, refusal: null };
    if (source.original.startsWith('#!')) source.original = `//${source.original}`;
    apply(set, known, [file, source]);
  }
  return source;
}

export function checkExtension(file) {
  const extension = extname(file);
  if (extension === '.tsx' || extension === '.jsx') {
    throw nodeError(TypeError, 'ERR_UNKNOWN_FILE_EXTENSION', `Unknown file extension "${extension}" for ${file}: JSX is not supported; compile it first`);
  }
  if (extension === '.node') throw nodeError(Error, 'ERR_DLOPEN_FAILED', `native addons cannot be loaded in the sandbox: ${file}`);
  if (extension === '.wasm') throw nodeError(TypeError, 'ERR_UNKNOWN_FILE_EXTENSION', `Unknown file extension ".wasm" for ${file}: WebAssembly is not supported`);
}

/** The text to compile, which frames of the stack call `name`. */
export function javascriptOf(source, name) {
  if (!isTypeScript(source.file)) {
    rememberSource(name, source.original);
    return source.original;
  }
  rememberSource(name, source.original);
  const made = binding.transpile(source.file, source.bytes, name);
  if (typeof made === 'string') return made.startsWith('#!') ? `//${made}` : made;
  throw typeScriptError(made[0], name);
}

// What the transpiler says: the place, the line, a caret, the message.
const DIAGNOSTIC = /^.*?:(\d+):\d+\n(.*\n.*\^)\n([^]*)$/;

/** Shown as any error of a parser: the place comes before the message, in the stack itself. */
function typeScriptError(text, name) {
  const [, line, shown, message = text] = DIAGNOSTIC.exec(text) ?? [];
  const error = nodeError(SyntaxError, 'ERR_INVALID_TYPESCRIPT_SYNTAX', message);
  if (shown !== undefined) error.stack = `${name}:${line}\n${shown}\n\n${error.stack}`;
  return error;
}

/** The function that the text of a CommonJS module is the body of. */
export function compileBody(source) {
  if (source.body) return source.body;
  source.text ??= javascriptOf(source, source.file);
  try {
    source.body = binding.compileFunction(source.text, source.file, WRAPPER);
  } catch (error) {
    throw decorate(error, source.file);
  }
  return source.body;
}

/** `module`, `commonjs`, `json`: by extension, by package.json, else by what the text is. */
export function formatOf(source) {
  source.format ??= BY_EXTENSION[extname(source.file)] ?? byPackage(source) ?? byText(source);
  return source.format;
}

function byPackage(source) {
  const type = packageOf(source.file)?.data.type;
  return type === 'module' || type === 'commonjs' ? type : undefined;
}

/** CommonJS is tried first: what only an ES module may hold comes early in a file, so that little is parsed twice. */
function byText(source) {
  const text = source.text ??= javascriptOf(source, source.file);
  try {
    source.body = binding.compileFunction(text, source.file, WRAPPER);
    return 'commonjs';
  } catch (error) {
    if (error instanceof SyntaxError && apply(test, MODULE_SYNTAX, [text])) {
      source.refusal = error;
      return 'module';
    }
    throw decorate(error, source.file);
  }
}

/** The better error of two, for a file that is neither CommonJS nor an ES module: if both parsers stopped at the
 * same place, it is CommonJS with a mistake. */
export function betterError(error, name) {
  const source = apply(get, known, [pathOf(name)]);
  if (source?.refusal && placeOf(error) !== undefined && placeOf(error) === placeOf(source.refusal)) return decorate(source.refusal, source.file);
  return decorate(error, name);
}
