import { a } from './a6.mjs';
export const b = () => a;
