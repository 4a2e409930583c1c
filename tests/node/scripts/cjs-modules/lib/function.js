module.exports = (x) => x * 21;
