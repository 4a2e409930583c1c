#!/usr/bin/env node
// A script with a library and assets beside it, found from __dirname wherever it is called from.
const path = require('path');
const fs = require('fs');
const { Report } = require('./lib/report');
const config = require('./assets/config.json');
const helpers = require(path.join(__dirname, 'lib', 'helpers'));

process.chdir(fs.mkdtempSync('elsewhere-'));
const template = fs.readFileSync(path.join(__dirname, 'assets', 'template.txt'), 'utf8');
const report = new Report(template, { ...config, verbose: process.argv.includes('--verbose') });
report.add('first', helpers.slug('Héllo, Wörld!')).add('second', helpers.chunk([1, 2, 3, 4, 5], 2));
console.log(report.render());
console.log(
  fs.readdirSync(path.resolve(__dirname, 'assets')),
  fs.existsSync('assets'),
  path.relative(__dirname, require.resolve('./lib/report')),
);
if (require.main === module) console.log(helpers.calledBy(module), report.version);
