// A file that is not there: nothing runs.
import { helper } from './lib/absent-helper.mjs';
console.log('never', helper);
