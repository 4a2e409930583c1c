export const sloppy = (function () {
  return this !== undefined;
})();
