// node:inspector/promises.

import inspector from '../inspector.js';

export default inspector;
