module.exports = (x) => x + 1;
module.exports.extra = 'extra';
