import { fileURLToPath } from 'node:url';
console.log(import.meta.url, import.meta.dirname, import.meta.filename, import.meta.main);
console.log(process.argv.slice(1), fileURLToPath(import.meta.url) === import.meta.filename, typeof require, this);
console.log(import.meta.resolve('./x.mjs'));
