const fs = require('node:fs');
const { fileURLToPath } = require('node:url');

async function attempt(what, act) {
  try {
    const value = await act();
    console.log(`${what}: ${JSON.stringify(value)}`);
  } catch (error) {
    console.log(`${what}: ${error.name} ${error.code ?? error.message}`);
  }
}

(async () => {
  for (const text of process.argv.slice(2)) {
    await attempt(`path of ${text}`, () => fileURLToPath(text));
    await attempt(`read ${text}`, () => fs.readFileSync(new URL(text), 'utf8'));
    await attempt(`promise to read ${text}`, () => fs.promises.readFile(new URL(text), 'utf8'));
    await attempt(`import ${text}`, async () => Object.keys(await import(text)));
    await attempt(`fetch ${text}`, async () => (await fetch(text)).status);
  }
})();
