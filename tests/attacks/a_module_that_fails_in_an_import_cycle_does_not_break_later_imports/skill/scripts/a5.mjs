import { b } from './b5.mjs';
export const a = 1;
throw new Error('failed');
