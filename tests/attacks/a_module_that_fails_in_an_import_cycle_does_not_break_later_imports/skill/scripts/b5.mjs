import { a } from './a5.mjs';
export const b = () => a;
