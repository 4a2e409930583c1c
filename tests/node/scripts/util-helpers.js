// promisify, callbackify, inherits, styleText, stripVTControlCharacters and other small ones.
const util = require('util');

const waits = (value, callback) => setImmediate(() => callback(value < 0 ? new Error('negative') : null, value * 2));
const promised = util.promisify(waits);
const several = (callback) => callback(null, 1, 2);
several[util.promisify.custom] = () => Promise.resolve('custom');
const back = util.callbackify(async (value) => {
  if (value === null) throw null;
  if (!value) throw new Error('falsy');
  return value + 1;
});
(async () => {
  console.log(await promised(4), await promised(-1).catch((error) => error.message), promised.name, promised.length);
  console.log(
    await util.promisify(several)(),
    util.promisify(promised) === promised,
    await util.promisify(setTimeout)(1, 'late'),
  );
  console.log(
    await util
      .promisify(require('fs').readFile)('absent')
      .catch((error) => error.code),
  );
  back(1, (error, value) => console.log('callbackify', error, value));
  back(0, (error) => console.log('callbackify', error.message));
  back(null, (error) => console.log('callbackify', error.code, error.reason));
})();
try {
  util.promisify('x');
} catch (error) {
  console.log(error.code, error.message);
}

function Parent() {}
Parent.prototype.hi = function () {
  return 'hi';
};
function Child() {}
util.inherits(Child, Parent);
console.log(new Child().hi(), Child.super_ === Parent, new Child() instanceof Parent);
const red = util.styleText('red', 'x', { validateStream: false });
console.log(
  JSON.stringify([
    red,
    util.styleText(['bold', 'underline'], 'y', { validateStream: false }),
    util.styleText('bgBlue', 'z', { validateStream: false }),
  ]),
);
console.log(
  JSON.stringify(util.styleText('red', 'plain on a pipe')),
  util.stripVTControlCharacters(`${red} \u001b[1mbold\u001b[22m`),
);
try {
  util.styleText('nocolour', 'x');
} catch (error) {
  console.log(error.code, error.message.slice(0, 60));
}
console.log(
  util.toUSVString('a\ud800b'),
  util.getSystemErrorName(-2),
  util.getSystemErrorMap().get(-13),
  util.getSystemErrorMessage(-17),
);
console.log(
  util.inspect(new util.MIMEType('text/html; charset=utf-8').essence),
  new util.TextDecoder() instanceof TextDecoder,
  util.TextEncoder === TextEncoder,
);
const debug = util.debuglog('mine');
console.log(debug('not shown'), debug.enabled, util.aborted.length, util.types.isProxy(new Proxy({}, {})));
const once = util.deprecate(() => 'result', 'gone soon', 'DEP9');
console.log(once(), once());
console.log(
  util.parseEnv('A=1\nB="two words" # c\n#x\nexport C=3\nD=\'single $A\'\nE=a=b'),
  util.diff('a', 'b').length,
);
