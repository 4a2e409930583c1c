// import() from CommonJS: builtins, modules, JSON, failures, and the order of things.
console.log('main starts');
const values = import('./esm-basics/values.mjs');
console.log(values instanceof Promise, Object.prototype.toString.call(values));
(async () => {
  const module = await values;
  console.log('loaded', module.default, module.named);
  module.increment();
  console.log('same module', (await import('./esm-basics/values.mjs')).count);
  const { default: fs, readFileSync } = await import('node:fs');
  console.log(fs === require('fs'), readFileSync === fs.readFileSync);
  const [path, os] = await Promise.all(['path', 'os'].map((name) => import(name)));
  console.log(path.sep, os.EOL.length);
  const cjs = await import('./cjs-modules/lib/function.js');
  console.log(cjs.default(2), cjs.default === require('./cjs-modules/lib/function.js'));
  console.log((await import('./cjs-modules/lib/settings.json', { with: { type: 'json' } })).default.name);
  console.log(
    (await import(`file://${__dirname}/esm-basics/values.mjs`)).named,
    (await import(__dirname + '/esm-basics/values.mjs')).named,
  );
  for (const name of ['./nowhere.mjs', 'nothing', './uncaught-in-import/broken.mjs', './cjs-modules/lib/throws.js']) {
    await import(name).then(
      () => console.log('loaded', name),
      (error) => console.log(error.name, error.code, error.message.split(' imported')[0]),
    );
  }
})();
console.log('main ends');
