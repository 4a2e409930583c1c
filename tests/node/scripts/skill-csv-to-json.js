#!/usr/bin/env node
/**
 * Convert a CSV file to JSON.
 *
 * Usage: node csv-to-json.js <input.csv> [output.json] [--pretty] [--delimiter=;]
 */
const fs = require('fs');
const path = require('path');

function parseCSV(text, delimiter) {
  const rows = [];
  let row = [];
  let field = '';
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c === '"' && text[i + 1] === '"') {
        field += '"';
        i++;
      } else if (c === '"') quoted = false;
      else field += c;
    } else if (c === '"') quoted = true;
    else if (c === delimiter) {
      row.push(field);
      field = '';
    } else if (c === '\n') {
      row.push(field);
      rows.push(row);
      row = [];
      field = '';
    } else if (c !== '\r') field += c;
  }
  if (field !== '' || row.length) {
    row.push(field);
    rows.push(row);
  }
  return rows;
}

function coerce(value) {
  if (value === '') return null;
  if (/^-?\d+(\.\d+)?$/.test(value)) return Number(value);
  if (value === 'true' || value === 'false') return value === 'true';
  return value;
}

const args = process.argv.slice(2);
const flags = args.filter((a) => a.startsWith('--'));
const [input, output] = args.filter((a) => !a.startsWith('--'));
if (!input) {
  console.error('Usage: csv-to-json.js <input.csv> [output.json] [--pretty]');
  process.exit(1);
}
const delimiter = (flags.find((f) => f.startsWith('--delimiter=')) || '--delimiter=,').split('=')[1];
const [header, ...rows] = parseCSV(fs.readFileSync(path.resolve(input), 'utf8'), delimiter);
const records = rows.map((r) => Object.fromEntries(header.map((h, i) => [h.trim(), coerce(r[i] ?? '')])));
const json = JSON.stringify(records, null, flags.includes('--pretty') ? 2 : 0);
if (output) {
  fs.writeFileSync(output, json + '\n');
  console.log(`Wrote ${records.length} records to ${path.basename(output)}`);
  console.log(fs.readFileSync(output, 'utf8'));
} else {
  process.stdout.write(json + '\n');
}
