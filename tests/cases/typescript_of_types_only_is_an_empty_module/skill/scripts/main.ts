import './empty.ts';
import type { Only } from './types.ts';
import * as types from './types.ts';
const only: Only = 1;
console.log(only, Object.keys(types));
