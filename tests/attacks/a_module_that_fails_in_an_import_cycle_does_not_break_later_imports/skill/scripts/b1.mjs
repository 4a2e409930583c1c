import { a } from './a1.mjs';
export const b = () => a;
