// node:constants: the constants of os, fs and crypto in one object.

import { constants as crypto } from './crypto/constants.js';
import { dlopen, errno, priority, signals } from './os/constants.js';
import fs from './fs.js';

export default Object.freeze({ ...dlopen, ...errno, ...priority, ...signals, ...fs.constants, ...crypto });
