import { b } from './b6.mjs';
await null;
export const a = 1;
throw new Error('failed later');
