Object.defineProperty(exports, '__esModule', { value: true });
exports.default = 'default of transpiled';
exports.named = 'named of transpiled';
