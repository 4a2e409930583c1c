// Errors as console prints them.
function failing() {
  return new Error('something broke');
}
console.log(failing());
console.error(failing().message);
console.log({ error: failing() });
console.log([new TypeError('in a list')]);
console.log('prefix:', failing());
console.log('%s', new RangeError('as text'));
console.log(`${new RangeError('in a template')}`);
class HttpError extends Error {
  constructor(status, message, options) {
    super(message, options);
    this.status = status;
  }
  get name() {
    return 'HttpError';
  }
}
const error = new HttpError(404, 'not found', { cause: failing() });
console.log(error);
console.log(Object.assign(new Error('many\nlines\nhere'), { code: 'E_LINES' }));
const odd = new Error('renamed');
odd.name = 'Renamed';
console.log(odd.toString(), odd.stack.split('\n')[0]);
console.log(odd);
try {
  JSON.parse('{');
} catch (problem) {
  console.log(problem.name, problem instanceof SyntaxError);
}
console.log(
  new Error('', { cause: null }).cause,
  Object.keys(new Error('x')),
  JSON.stringify(new Error('x')),
  JSON.stringify(error),
);
