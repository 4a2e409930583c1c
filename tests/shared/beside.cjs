module.exports = [require('node:path').basename(__filename, '.cjs'), module === require.cache[__filename]];
