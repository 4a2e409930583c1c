exports.from = 'index';
