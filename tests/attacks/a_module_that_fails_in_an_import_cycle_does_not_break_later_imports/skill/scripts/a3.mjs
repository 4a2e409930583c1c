import './b3.mjs';
import './c3.mjs';
export const a = 1;
