// Files, folders, JSON, functions as modules; a module that throws; the wrapper.
const settings = require('./lib/settings.json');
console.log(settings, require('./lib/settings') === settings);
console.log(require('./lib/function')(2), new (require('./lib/class.js'))('n').hello());
console.log(require('./lib/index-folder'), require('./lib/main-folder'), require('./lib/main-folder/'));
console.log(require('./lib/counter').next(), require('./lib/counter.js').next());
for (const name of ['./lib/throws', './lib/throws', './lib/broken.json', './lib/absent-inside']) {
  try {
    require(name);
  } catch (error) {
    console.log(
      error.name,
      error.code,
      error.message
        .split('\n')[0]
        .replace(/(\.json):.*/, '$1')
        .replace(/^.*\/(?=lib)/, ''),
    );
  }
}
console.log(require('./lib/no-extension'), require('./lib/with.dots'));
const Module = require('module');
console.log(
  Module.wrap('x'),
  Module._extensions === require.extensions,
  Module.prototype.require === module.constructor.prototype.require,
);
const made = new Module('made', module);
made._compile('exports.answer = 42; exports.name = __filename;', '/virtual/made.js');
console.log(made.exports);
require.extensions['.txt'] = (target, file) => {
  target.exports = require('fs').readFileSync(file, 'utf8').trim();
};
console.log(require('./lib/text.txt'));
