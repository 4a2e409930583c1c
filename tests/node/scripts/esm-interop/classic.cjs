exports.first = 1;
exports.second = 2;
module.exports.third = 3;
