// node:test: importable, so that a file that carries its own tests still loads; a test cannot be run.

import { notImplemented } from '../internal/errors.js';

const refuse = (name) =>
  ({
    [name]() {
      throw notImplemented(`node:test ${name}`, 'tests are run by node itself');
    },
  })[name];

const test = refuse('test');
for (const name of [
  'expectFailure',
  'skip',
  'todo',
  'only',
  'after',
  'afterEach',
  'before',
  'beforeEach',
  'describe',
  'getTestContext',
  'it',
  'run',
  'suite',
]) {
  test[name] = refuse(name);
}
test.test = test;
test.mock = {};
test.snapshot = {};
test.assert = {};

export default test;
