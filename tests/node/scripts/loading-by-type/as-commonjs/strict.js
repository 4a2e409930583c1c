exports.sloppy = (function () {
  return this !== undefined;
})();
