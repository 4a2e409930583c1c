// An error that nothing catches, in a module.
export function inner(value) {
  if (value > 1) throw new RangeError(`too large: ${value}`);
}
console.log('before');
inner(5);
