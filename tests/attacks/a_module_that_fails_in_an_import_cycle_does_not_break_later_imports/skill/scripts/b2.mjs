import './a2.mjs';
import './missing.mjs';
export const b = 1;
