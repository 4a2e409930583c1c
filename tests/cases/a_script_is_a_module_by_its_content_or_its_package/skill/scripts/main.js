import { where } from './typed/inner.js';
console.log(where, typeof require);
