exports.answer = 'helper';
