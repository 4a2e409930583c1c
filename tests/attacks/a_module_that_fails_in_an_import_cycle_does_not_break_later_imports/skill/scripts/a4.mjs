import './b4.mjs';
export const a = 1;
