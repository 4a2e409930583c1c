// node:assert/strict.

import { strict } from '../assert.js';

export default strict;
