module.exports = class Greeter {
  constructor(name) {
    this.name = name;
  }
  hello() {
    return `hello ${this.name}`;
  }
};
