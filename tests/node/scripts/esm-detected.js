// ESM by what is written, in a file called .js without a package.json.
import { sep } from 'path';
const value = await Promise.resolve('awaited');
console.log(sep, value, import.meta.url.endsWith('esm-detected.js'), typeof require, typeof module);
export default value;
