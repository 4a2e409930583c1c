import { a, type A } from './a.ts';
import { b } from './b';
import c from './c.cts';
import type { Nothing } from './nowhere';
const value: A = a;
console.log(value, b, c.c, import.meta.filename.endsWith('main.mts'));
