#!/usr/bin/env node
/**
 * Render a template with {{placeholders}}, {{#each}} and {{#if}} blocks.
 * Usage: template.mjs --template page.tpl --data data.json [--out page.html]
 */
import fs from 'fs';
import path from 'path';
import { parseArgs } from 'util';
import { fileURLToPath } from 'url';

const __dirname = path.dirname(fileURLToPath(import.meta.url));
const { values } = parseArgs({
  options: {
    template: { type: 'string', short: 't' },
    data: { type: 'string', short: 'd' },
    out: { type: 'string', short: 'o' },
    escape: { type: 'boolean', default: true },
  },
  allowNegative: true,
});

const lookup = (scope, key) => key.split('.').reduce((value, part) => value?.[part], scope);
const escapeHtml = (text) =>
  String(text).replace(/[&<>"']/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' })[c]);

const filters = {
  upper: (value) => String(value).toUpperCase(),
  date: (value) => new Date(value).toISOString().slice(0, 10),
  money: (value) =>
    Number(value)
      .toFixed(2)
      .replace(/\B(?=(\d{3})+(?!\d))/g, ','),
  json: (value) => JSON.stringify(value),
};

function render(template, scope) {
  return template
    .replace(/\{\{#each (\S+)\}\}\n?([\s\S]*?)\{\{\/each\}\}\n?/g, (_, key, body) =>
      (lookup(scope, key) ?? []).map((item, index) => render(body, { ...scope, ...item, this: item, index })).join(''),
    )
    .replace(/\{\{#if (\S+)\}\}([\s\S]*?)(?:\{\{else\}\}([\s\S]*?))?\{\{\/if\}\}/g, (_, key, yes, no = '') =>
      render(lookup(scope, key) ? yes : no, scope),
    )
    .replace(/\{\{\{?\s*([\w.]+)(?:\s*\|\s*(\w+))?\s*\}?\}\}/g, (whole, key, filter) => {
      let value = lookup(scope, key);
      if (value === undefined) {
        console.warn(`warning: nothing for "${key}"`);
        return '';
      }
      if (filter) value = filters[filter]?.(value) ?? value;
      return values.escape && !whole.startsWith('{{{') ? escapeHtml(value) : String(value);
    });
}

const result = render(fs.readFileSync(values.template, 'utf8'), JSON.parse(fs.readFileSync(values.data, 'utf8')));
if (values.out) {
  fs.mkdirSync(path.dirname(values.out), { recursive: true });
  fs.writeFileSync(values.out, result);
  console.log(`${values.out}: ${Buffer.byteLength(result)} bytes`, path.basename(__dirname));
}
process.stdout.write(result);
