import './b2.mjs';
export const a = 1;
