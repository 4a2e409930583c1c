#!/usr/bin/env -S npx tsx
/** Validate JSON against a small subset of JSON Schema. */
import { readFileSync } from 'node:fs';

type JsonType = 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object' | 'null';
interface Schema {
  type?: JsonType | JsonType[];
  required?: string[];
  properties?: Record<string, Schema>;
  additionalProperties?: boolean;
  items?: Schema;
  enum?: unknown[];
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  minItems?: number;
  $ref?: string;
  $defs?: Record<string, Schema>;
}
enum Severity {
  Error = 'error',
  Warning = 'warning',
}

class Problem {
  constructor(
    public readonly path: string,
    public readonly message: string,
    public readonly severity: Severity = Severity.Error,
  ) {}
  toString(): string {
    return `${this.severity.padEnd(7)} ${this.path || '/'}: ${this.message}`;
  }
}

const typeOf = (value: unknown): JsonType =>
  value === null
    ? 'null'
    : Array.isArray(value)
      ? 'array'
      : Number.isInteger(value)
        ? 'integer'
        : (typeof value as JsonType);

function* validate(value: any, schema: Schema, path: string, root: Schema): Generator<Problem> {
  if (schema.$ref) {
    const target = schema.$ref
      .replace(/^#\//, '')
      .split('/')
      .reduce<any>((node, key) => node?.[key], root);
    if (!target) {
      yield new Problem(path, `unknown reference ${schema.$ref}`);
      return;
    }
    return yield* validate(value, target, path, root);
  }
  const actual = typeOf(value);
  const allowed = schema.type === undefined ? [] : [schema.type].flat();
  if (allowed.length && !allowed.some((type) => type === actual || (type === 'number' && actual === 'integer'))) {
    yield new Problem(path, `expected ${allowed.join(' or ')}, got ${actual}`);
    return;
  }
  if (schema.enum && !schema.enum.includes(value))
    yield new Problem(path, `must be one of ${JSON.stringify(schema.enum)}`);
  if (typeof value === 'string') {
    if (schema.pattern && !new RegExp(schema.pattern, 'u').test(value))
      yield new Problem(path, `does not match ${schema.pattern}`);
    if (value.length < (schema.minLength ?? 0)) yield new Problem(path, 'too short', Severity.Warning);
  }
  if (typeof value === 'number' && (value < (schema.minimum ?? -Infinity) || value > (schema.maximum ?? Infinity)))
    yield new Problem(path, `${value} is out of range`);
  if (actual === 'array') {
    if (value.length < (schema.minItems ?? 0)) yield new Problem(path, `needs ${schema.minItems} items`);
    for (const [i, item] of value.entries())
      if (schema.items) yield* validate(item, schema.items, `${path}/${i}`, root);
  }
  if (actual === 'object') {
    for (const key of schema.required ?? []) if (!(key in value)) yield new Problem(path, `missing "${key}"`);
    for (const [key, child] of Object.entries(value)) {
      const known = schema.properties?.[key];
      if (known) yield* validate(child, known, `${path}/${key}`, root);
      else if (schema.additionalProperties === false)
        yield new Problem(`${path}/${key}`, 'not allowed', Severity.Warning);
    }
  }
}

const [schemaFile, ...files] = process.argv.slice(2);
const schema = JSON.parse(readFileSync(schemaFile, 'utf8')) as Schema;
let failed = 0;
for (const file of files) {
  const problems = [...validate(JSON.parse(readFileSync(file, 'utf8')), schema, '', schema)];
  console.log(`${file}: ${problems.length ? `${problems.length} problem(s)` : 'ok'}`);
  for (const problem of problems) console.log(`  ${problem}`);
  failed += Number(problems.some(({ severity }) => severity === Severity.Error));
}
process.exitCode = failed;
