module.exports = 'not here';
