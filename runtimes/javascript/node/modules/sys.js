// node:sys: an old name of util.

import util from './util.js';

export default util;
