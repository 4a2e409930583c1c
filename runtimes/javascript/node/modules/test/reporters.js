// node:test/reporters.

import { absentCall, calls } from '../refused.js';

export default calls(absentCall, 'test/reporters', ['dot', 'junit', 'spec', 'tap', 'lcov'], 'tests are run by node itself');
