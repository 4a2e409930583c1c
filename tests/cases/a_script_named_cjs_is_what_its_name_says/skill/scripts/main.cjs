console.log(typeof require, typeof module, this === module.exports);
