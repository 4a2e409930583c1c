exports.from = 'main';
