console.log('self', require('./self.js') === exports, module.parent.id === '.', require.main === module.parent);
