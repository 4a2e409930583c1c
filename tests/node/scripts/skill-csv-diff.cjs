#!/usr/bin/env node
// Compare two CSV or TSV files by a key column: added, removed and changed rows.
'use strict';
var fs = require('fs');
var path = require('path');

function load(file, key) {
  var separator = path.extname(file).toLowerCase() === '.tsv' ? '\t' : ',';
  var lines = fs
    .readFileSync(file)
    .toString()
    .replace(/^\uFEFF/, '')
    .trim()
    .split(/\r?\n/);
  var columns = lines.shift().split(separator);
  if (columns.indexOf(key) < 0) {
    throw Object.assign(new Error('no column "' + key + '" in ' + file), { exitCode: 3 });
  }
  var rows = {};
  lines.forEach(function (line, number) {
    var cells = line.split(separator);
    var row = {};
    columns.forEach(function (column, i) {
      row[column] = cells[i] === undefined ? '' : cells[i];
    });
    if (rows.hasOwnProperty(row[key])) console.warn('%s:%d: duplicate key %j', file, number + 2, row[key]);
    rows[row[key]] = row;
  });
  return { columns: columns, rows: rows };
}

var parts = process.argv.slice(2);
if (parts.length < 3) {
  console.error('usage: csv-diff <old> <new> <key>');
  process.exit(64);
}
try {
  var before = load(parts[0], parts[2]);
  var after = load(parts[1], parts[2]);
  var summary = { added: 0, removed: 0, changed: 0, same: 0 };
  Object.keys(Object.assign({}, before.rows, after.rows))
    .sort()
    .forEach(function (id) {
      var a = before.rows[id],
        b = after.rows[id];
      if (!a) {
        summary.added++;
        return console.log('+ %s %j', id, b);
      }
      if (!b) {
        summary.removed++;
        return console.log('- %s', id);
      }
      var changes = after.columns.filter(function (c) {
        return a[c] !== b[c];
      });
      if (!changes.length) {
        summary.same++;
        return;
      }
      summary.changed++;
      console.log(
        '~ ' +
          id +
          ': ' +
          changes
            .map(function (c) {
              return c + ' ' + (a[c] === undefined ? '(none)' : a[c]) + ' → ' + b[c];
            })
            .join('; '),
      );
    });
  console.log(summary);
  load(parts[0], 'absent');
} catch (error) {
  console.error(error.message);
  process.exit(error.exitCode || 1);
}
