// inspect.custom, classes, tags, colours, errors inside objects.
const util = require('util');

class Money {
  constructor(amount) {
    this.amount = amount;
  }
  [util.inspect.custom](depth, options, inspect) {
    return depth < 0 ? '[Money]' : `Money<${inspect(this.amount, options)}>`;
  }
}
console.log(new Money(5), [new Money(1.5)], { a: { b: { c: new Money(1) } } });
class Point {
  #secret = 1;
  x = 1;
  y = { z: 2 };
  get sum() {
    return 3;
  }
  static origin = 0;
}
class Point3 extends Point {
  z = 3;
}
console.log(new Point(), new Point3(), Point, Point3);
console.log(
  { [Symbol.toStringTag]: 'T' },
  new (class Named {
    get [Symbol.toStringTag]() {
      return 'Other';
    }
  })(),
);
console.log(util.inspect.custom, util.inspect.custom === Symbol.for('nodejs.util.inspect.custom'));
console.log(
  util.inspect({ [util.inspect.custom]: () => ({ replaced: true }) }),
  util.inspect({ [util.inspect.custom]: () => 42 }, { customInspect: false }).length > 10,
);

const colourful = {
  n: 1,
  s: 'x',
  b: true,
  u: undefined,
  z: null,
  d: new Date(0),
  r: /x/,
  y: Symbol('y'),
  f() {},
  big: 1n,
  m: new Map([[1, 'a']]),
  nested: { deep: { er: {} } },
};
console.log(JSON.stringify(util.inspect(colourful, { colors: true })));
console.log(util.inspect.styles.number, util.inspect.colors.green);

const shown = util.inspect(new Error('boom')).split('\n');
console.log(shown[0], shown[1].startsWith('    at '));
const bare = new Error('no stack');
bare.stack = undefined;
console.log(bare);
bare.stack = 'a custom stack';
console.log(bare, [bare], { error: bare });
const extra = new TypeError('with properties');
extra.stack = 'TypeError: with properties\n    at somewhere';
extra.code = 'E_CODE';
extra.info = { a: 1 };
console.log(extra);
const caused = new Error('outer', { cause: extra });
caused.stack = 'Error: outer\n    at elsewhere';
console.log(caused);
const many = new AggregateError([bare], 'several');
many.stack = 'AggregateError: several';
console.log(many);
class Custom extends Error {
  constructor(m) {
    super(m);
    this.name = 'CustomName';
  }
}
console.log(
  util.inspect(new Custom('msg')).split('\n')[0],
  String(new Custom('msg')),
  Object.prototype.toString.call(new Custom('')),
);
class Unnamed extends RangeError {}
console.log(util.inspect(new Unnamed('msg')).split('\n')[0]);
