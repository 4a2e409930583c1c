module.exports = 'config cjs';
