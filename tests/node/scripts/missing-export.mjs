// A name that a module does not export.
import { readFileSink } from 'node:fs';
console.log('never', readFileSink);
