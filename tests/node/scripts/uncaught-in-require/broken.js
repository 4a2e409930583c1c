const config = {};
function load() {
  throw new Error(`no value for ${Object.keys(config).length} keys`);
}
module.exports = load();
