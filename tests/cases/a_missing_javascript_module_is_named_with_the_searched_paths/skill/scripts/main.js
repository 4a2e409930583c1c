for (const name of ['lodash', './missing', '../missing.json', '@scope/package/sub']) {
  try {
    require(name);
  } catch (error) {
    console.log(error.code, error.message, error.requireStack);
  }
}
require('left-pad');
