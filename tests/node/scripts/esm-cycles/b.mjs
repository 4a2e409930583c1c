import { a, early } from './a.mjs';
console.log('b sees', early());
try {
  console.log(a);
} catch (error) {
  console.log(error.name);
}
export const b = 'b';
export const readA = () => a;
