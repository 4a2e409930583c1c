const { EventEmitter } = require('events');
const { slug } = require('./helpers');

class Report extends EventEmitter {
  constructor(template, config) {
    super();
    this.template = template;
    this.config = config;
    this.entries = [];
  }

  get version() {
    return require('../assets/config.json').version;
  }

  add(title, value) {
    this.entries.push([title, value]);
    this.emit('added', title);
    return this;
  }

  render() {
    const body = this.entries.map(([title, value]) => `* ${title}: ${JSON.stringify(value)}`).join('\n');
    return this.template
      .replace('%TITLE%', this.config.title)
      .replace('%BODY%', body)
      .replace('%SLUG%', slug(this.config.title))
      .trimEnd();
  }
}
module.exports = { Report };
