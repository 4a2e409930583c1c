import './b1.mjs';
import './missing.mjs';
export const a = 1;
