// util.parseArgs.

import process from '../process.js';
import { invalidArgValue, nodeError } from '../../internal/errors.js';
import {
  validateArray,
  validateBoolean,
  validateBooleanArray,
  validateObject,
  validateString,
  validateStringArray,
  validateUnion,
} from '../../internal/validators.js';

const own = (object, key) => (Object.hasOwn(object, key) ? object[key] : undefined);
const setting = (options, name, key) => (Object.hasOwn(options, name) ? own(options[name], key) : undefined);

const invalidValue = (message) => nodeError(TypeError, 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE', message);

function unknownOption(rawName, allowPositionals) {
  const hint = allowPositionals
    ? `. To specify a positional argument starting with a '-', place it at the end of the command after '--', as in '-- ${JSON.stringify(rawName)}`
    : '';
  return nodeError(TypeError, 'ERR_PARSE_ARGS_UNKNOWN_OPTION', `Unknown option '${rawName}'${hint}`);
}

export function parseArgs(config = {}) {
  const args = own(config, 'args') ?? process.argv.slice(2);
  const strict = own(config, 'strict') ?? true;
  const allowPositionals = own(config, 'allowPositionals') ?? !strict;
  const wantsTokens = own(config, 'tokens') ?? false;
  const allowNegative = own(config, 'allowNegative') ?? false;
  const options = own(config, 'options') ?? { __proto__: null };
  validateArray(args, 'args');
  validateBoolean(strict, 'strict');
  validateBoolean(allowPositionals, 'allowPositionals');
  validateBoolean(wantsTokens, 'tokens');
  validateBoolean(allowNegative, 'allowNegative');
  validateObject(options, 'options');
  for (const [name, option] of Object.entries(options)) validateOption(name, option);

  const tokens = tokenize(args, options);
  const values = { __proto__: null };
  const positionals = [];
  for (const token of tokens) {
    if (token.kind === 'option') {
      if (strict) checkUsage(token, options, allowPositionals, allowNegative);
      store(token, options, values, allowNegative);
    } else if (token.kind === 'positional') {
      if (!allowPositionals) {
        throw nodeError(
          TypeError,
          'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL',
          `Unexpected argument '${token.value}'. This command does not take positional arguments`,
        );
      }
      positionals.push(token.value);
    }
  }
  for (const [name, option] of Object.entries(options)) {
    const value = own(option, 'default');
    if (value !== undefined && values[name] === undefined && name !== '__proto__') values[name] = value;
  }
  return wantsTokens ? { values, positionals, tokens } : { values, positionals };
}

function validateOption(name, option) {
  validateObject(option, `options.${name}`);
  const type = own(option, 'type');
  validateUnion(type, `options.${name}.type`, ['string', 'boolean']);
  if (Object.hasOwn(option, 'short')) {
    validateString(option.short, `options.${name}.short`);
    if (option.short.length !== 1) throw invalidArgValue(`options.${name}.short`, option.short, 'must be a single character');
  }
  if (Object.hasOwn(option, 'multiple')) validateBoolean(option.multiple, `options.${name}.multiple`);
  const value = own(option, 'default');
  if (value === undefined) return;
  const many = own(option, 'multiple');
  const validate = type === 'string' ? (many ? validateStringArray : validateString) : many ? validateBooleanArray : validateBoolean;
  validate(value, `options.${name}.default`);
}

/** The arguments as options, positionals and `--`; what they mean is decided later. */
function tokenize(args, options) {
  const tokens = [];
  const rest = [...args];
  let index = -1;
  let ofGroup = 0;
  const longName = (short) => Object.entries(options).find(([, option]) => own(option, 'short') === short)?.[0] ?? short;
  const takesValue = (name) => setting(options, name, 'type') === 'string';
  const lone = (name, rawName) => {
    let value;
    let inlineValue;
    if (takesValue(name) && rest[0] != null) {
      value = rest.shift();
      inlineValue = false;
    }
    tokens.push({ kind: 'option', name, rawName, index, value, inlineValue });
    if (value != null) index++;
  };
  while (rest.length > 0) {
    const arg = rest.shift();
    if (ofGroup > 0) ofGroup--;
    else index++;
    if (arg === '--') {
      tokens.push({ kind: 'option-terminator', index });
      for (const value of rest) tokens.push({ kind: 'positional', index: ++index, value });
      break;
    }
    const isShort = arg.length > 1 && arg[0] === '-' && arg[1] !== '-';
    const isLong = arg.length > 2 && arg.startsWith('--');
    if (isShort && arg.length === 2) {
      lone(longName(arg[1]), arg);
    } else if (isShort && takesValue(longName(arg[1]))) {
      tokens.push({ kind: 'option', name: longName(arg[1]), rawName: `-${arg[1]}`, index, value: arg.slice(2), inlineValue: true });
    } else if (isShort) {
      const expanded = expand(arg, longName, takesValue);
      rest.unshift(...expanded);
      ofGroup = expanded.length;
    } else if (isLong && !arg.includes('=', 3)) {
      lone(arg.slice(2), arg);
    } else if (isLong) {
      const equals = arg.indexOf('=');
      tokens.push({
        kind: 'option',
        name: arg.slice(2, equals),
        rawName: arg.slice(0, equals),
        index,
        value: arg.slice(equals + 1),
        inlineValue: true,
      });
    } else {
      tokens.push({ kind: 'positional', index, value: arg });
    }
  }
  return tokens;
}

/** `-abfFILE` as `-a -b -fFILE`. */
function expand(arg, longName, takesValue) {
  const expanded = [];
  for (let at = 1; at < arg.length; at++) {
    if (takesValue(longName(arg[at])) && at !== arg.length - 1) {
      expanded.push(`-${arg.slice(at)}`);
      break;
    }
    expanded.push(`-${arg[at]}`);
  }
  return expanded;
}

function checkUsage(token, options, allowPositionals, allowNegative) {
  let { name } = token;
  if (!Object.hasOwn(options, name)) {
    if (!allowNegative || !name.startsWith('no-')) throw unknownOption(token.rawName, allowPositionals);
    name = name.slice(3);
    if (setting(options, name, 'type') !== 'boolean') throw unknownOption(token.rawName, allowPositionals);
  }
  const short = setting(options, name, 'short');
  const shown = `${short ? `-${short}, ` : ''}--${name}`;
  const type = setting(options, name, 'type');
  if (type === 'string' && typeof token.value !== 'string') throw invalidValue(`Option '${shown} <value>' argument missing`);
  if (type === 'boolean' && token.value != null) throw invalidValue(`Option '${shown}' does not take an argument`);
  if (!token.inlineValue && token.value?.length > 1 && token.value[0] === '-') {
    const example = token.rawName.startsWith('--') ? `'${token.rawName}=-XYZ'` : `'--${token.name}=-XYZ' or '${token.rawName}-XYZ'`;
    throw invalidValue(
      `Option '${token.rawName}' argument is ambiguous.\n` +
        `Did you forget to specify the option argument for '${token.rawName}'?\n` +
        `To specify an option argument starting with a dash use ${example}.`,
    );
  }
}

function store(token, options, values, allowNegative) {
  if (token.name === '__proto__') return;
  let { value } = token;
  if (allowNegative && value === undefined && token.name.startsWith('no-')) {
    token.name = token.name.slice(3);
    value = false;
  }
  value ??= true;
  if (!setting(options, token.name, 'multiple')) values[token.name] = value;
  else if (values[token.name]) values[token.name].push(value);
  else values[token.name] = [value];
}
