module.exports = 'dots';
