import { a } from './a3.mjs';
export const b = () => a;
