module.exports = 'bom';
