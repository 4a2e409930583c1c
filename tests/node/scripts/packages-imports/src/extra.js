module.exports = 'extra of own-name';
