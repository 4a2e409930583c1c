// Imports each of two modules that import each other, again and again; something in the cycle fails.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const attempts = { import: (name) => import(name), require: async (name) => require(name) };
const garbage = [];

for (const cycle of process.argv.slice(2)) {
  const answers = new Set();
  for (let round = 0; round < 3; round++) {
    for (const name of [`./b${cycle}.mjs`, `./a${cycle}.mjs`, `./b${cycle}.mjs`]) {
      for (const [how, attempt] of Object.entries(attempts)) {
        try {
          answers.add(`${how}: ${Object.keys(await attempt(name))}`);
        } catch (error) {
          answers.add(`${how}: ${error.name} ${error.code ?? error.message.split('\n')[0]}`);
        }
      }
      for (let i = 0; i < 10000; i++) garbage.push({ i });
    }
  }
  console.log(cycle, [...answers].join(' | '));
}
console.log('ends');
