#!/usr/bin/env node
'use strict';
console.log(`a
b`.length, require('./bom.js'), require('./bom.json'));
