#!/usr/bin/env npx tsx
/** A small command written in TypeScript, as skills have them. */
import { parseArgs } from 'node:util';
import { existsSync } from 'node:fs';

type Command = 'sum' | 'max';
interface Report {
  command: Command;
  result: number;
  inputs: readonly number[];
}

const { values, positionals } = parseArgs({
  options: { command: { type: 'string', short: 'c', default: 'sum' }, json: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const commands: Record<Command, (inputs: number[]) => number> = {
  sum: (inputs) => inputs.reduce((a, b) => a + b, 0),
  max: (inputs) => Math.max(...inputs),
};
const inputs = positionals.map(Number);
if (inputs.some(Number.isNaN)) {
  console.error(`not a number: ${positionals.find((word) => Number.isNaN(Number(word)))}`);
  process.exit(2);
}
const command = values.command as Command;
if (!(command in commands)) throw new Error(`unknown command ${command}`);
const report: Report = { command, result: commands[command](inputs), inputs };
console.log(values.json ? JSON.stringify(report) : `${report.command}: ${report.result}`, existsSync('absent'));
