// An error while another module loads: nothing of this one runs.
import { value } from './broken.mjs';
console.log('never', value);
