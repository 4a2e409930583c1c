// Modules in a circle: functions are there before values.
import { a, early } from './a.mjs';
import { b, readA } from './b.mjs';
console.log('main', a, b, readA(), early());
await import('./awaits.mjs');
console.log('after the one that awaits');
