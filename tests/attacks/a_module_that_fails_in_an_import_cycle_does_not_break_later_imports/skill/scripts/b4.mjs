import { nothing } from './a4.mjs';
export const b = 1;
