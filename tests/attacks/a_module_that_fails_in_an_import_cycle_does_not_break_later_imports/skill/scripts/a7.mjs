import './b7.mjs';
export const a = 1;
