module.exports = 'index of own-name';
