// node:sqlite: named, and refused.

import { notImplemented } from '../internal/errors.js';
import { absentCall } from './refused.js';

const refusedClass = (name) =>
  ({
    [name]: class {
      constructor() {
        throw notImplemented(`new sqlite.${name}`, 'this runtime has no SQLite');
      }
    },
  })[name];

export default {
  DatabaseSync: refusedClass('DatabaseSync'),
  StatementSync: refusedClass('StatementSync'),
  Session: refusedClass('Session'),
  constants: { __proto__: null },
  backup: absentCall('sqlite', 'backup', 'this runtime has no SQLite'),
};
