// Its own name, as a path and as a URL, and a file beside it with the same one.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const { url, filename, dirname } = import.meta;
const name = path.basename(filename, '.mjs');
const beside = path.join(dirname, `${name}.cjs`);
console.log(JSON.stringify(name), url.slice(url.lastIndexOf('/') + 1));
console.log(fileURLToPath(url) === filename, pathToFileURL(filename).href === url, process.argv[1] === filename, fs.existsSync(new URL(url)));
const require = createRequire(url);
console.log(require(`./${name}.cjs`), require(beside), path.basename(require.resolve(beside)) === `${name}.cjs`);
console.log((await import(pathToFileURL(beside).href)).default, (await import(`./${encodeURIComponent(name)}.cjs`)).default);
try {
  throw new Error('here');
} catch (error) {
  console.log(error.stack.split('\n').some((line) => line.includes(`${url}:16:`)));
}
