export default 'the default';
export const named = 'named';
const internal = 'internal';
export { internal as renamed };
export let count = 0;
export function increment() {
  count += 1;
}
