// Imports what scripts of skills most often import.
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import url from 'node:url';
import util from 'node:util';

const functions = [crypto.createHash, fs.readFileSync, path.join, url.fileURLToPath, util.inspect];
console.log(functions.map((each) => typeof each).join(' '));
