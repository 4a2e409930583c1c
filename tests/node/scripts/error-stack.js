// Stacks: their text, their limit, capturing, preparing.
function third() {
  return new Error('deep');
}
const second = () => third();
class First {
  run() {
    return second();
  }
  static make() {
    return new First().run();
  }
}
const lines = First.make()
  .stack.split('\n')
  .map((line) => line.replace(/at (\w+\.)?/, 'at ').replace(/\(?\/.*\//, ''));
console.log(lines.slice(0, 5));
console.log(Error.stackTraceLimit, typeof Error.captureStackTrace);
Error.stackTraceLimit = 1;
console.log(First.make().stack.split('\n').length);
Error.stackTraceLimit = 10;
const target = {};
Error.captureStackTrace(target);
console.log(target.stack.split('\n')[0], /error-stack\.js:23:7\)?$/.test(target.stack.split('\n')[1]));
function hidden() {
  const object = { name: 'N', message: 'm' };
  Error.captureStackTrace(object, hidden);
  return object.stack.split('\n');
}
console.log(hidden()[0], hidden()[1].includes('hidden'));
const error = new TypeError('text', { cause: 'why' });
console.log(
  String(error),
  error.cause,
  Object.keys(error),
  error.toString === Error.prototype.toString,
  'stack' in error,
  Object.prototype.hasOwnProperty.call(error, 'stack'),
);
console.log(
  Object.getOwnPropertyNames(new Error('x')).sort(),
  new Error('').message === '',
  new Error(undefined).message === '',
  new Error(5).message,
);
Error.prepareStackTrace = (problem, frames) =>
  frames
    .slice(0, 2)
    .map((frame) => [frame.getFunctionName(), frame.getFileName()?.split('/').pop(), frame.getLineNumber()]);
console.log(First.make().stack);
Error.prepareStackTrace = undefined;
try {
  null.x;
} catch (problem) {
  console.log(problem.name, problem.constructor === TypeError);
}
try {
  undefined_name;
} catch (problem) {
  console.log(problem.name, problem.message);
}
try {
  (function f() {
    f();
  })();
} catch (problem) {
  console.log(problem.name, problem.message);
}
