import './a7.mjs';
export const b = 1;
