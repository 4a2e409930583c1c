console.log(typeof require, this);
