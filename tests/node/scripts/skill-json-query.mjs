#!/usr/bin/env node
/**
 * Select values from JSON on standard input: json-query.mjs 'users[*].name' [--raw]
 */
import { readFileSync } from 'node:fs';
import { parseArgs, inspect } from 'node:util';

class QueryError extends Error {
  constructor(message, position) {
    super(message);
    this.name = 'QueryError';
    this.position = position;
  }
}

function* tokens(query) {
  const pattern =
    /\.?([A-Za-z_$][\w$]*)|\[(\d+|\*|-\d+)\]|\["([^"]+)"\]|\[\?(\w+)\s*(==|!=|>|<)\s*("[^"]*"|[\d.]+)\]|(\.\.)/y;
  while (pattern.lastIndex < query.length) {
    const at = pattern.lastIndex;
    const match = pattern.exec(query);
    if (!match) throw new QueryError(`cannot read "${query.slice(at)}"`, at);
    const [, name, index, quoted, key, operator, literal, deep] = match;
    if (deep) yield { kind: 'deep' };
    else if (key) yield { kind: 'filter', key, operator, value: JSON.parse(literal) };
    else if (index === '*') yield { kind: 'all' };
    else yield { kind: 'key', key: name ?? quoted ?? Number(index) };
  }
}

const compare = { '==': (a, b) => a === b, '!=': (a, b) => a !== b, '>': (a, b) => a > b, '<': (a, b) => a < b };
const descend = (value) =>
  value && typeof value === 'object' ? [value, ...Object.values(value).flatMap(descend)] : [];
function step(values, token) {
  switch (token.kind) {
    case 'key':
      return values.map((v) => (Array.isArray(v) ? v.at(token.key) : v?.[token.key])).filter((v) => v !== undefined);
    case 'all':
      return values.flatMap((v) => Object.values(v ?? {}));
    case 'filter':
      return values.flat().filter((v) => compare[token.operator](v?.[token.key], token.value));
    case 'deep':
      return values.flatMap(descend);
  }
}

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { raw: { type: 'boolean', short: 'r' } },
});
try {
  const data = JSON.parse(readFileSync(0, 'utf-8'));
  for (const query of positionals) {
    const found = [...tokens(query)].reduce(step, [data]);
    console.log(`${query}:`);
    for (const value of found)
      console.log(
        options.raw && typeof value === 'string'
          ? `  ${value}`
          : `  ${inspect(value, { depth: 1, breakLength: Infinity })}`,
      );
  }
} catch (error) {
  if (!(error instanceof QueryError)) throw error;
  console.error(`${error.name} at ${error.position}: ${error.message}`);
  process.exitCode = 2;
}
