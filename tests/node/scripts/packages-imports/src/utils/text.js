module.exports = 'text utils';
