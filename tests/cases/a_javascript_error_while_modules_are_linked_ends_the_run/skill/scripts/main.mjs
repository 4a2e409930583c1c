import { missing } from './sibling.mjs';
console.log('never printed', missing);
