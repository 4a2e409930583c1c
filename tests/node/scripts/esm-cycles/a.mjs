import { b, readA } from './b.mjs';
export function early() {
  return 'early';
}
console.log('a sees', b);
try {
  readA();
} catch (error) {
  console.log(error.name);
}
export const a = 'a';
