// node:path: the POSIX flavour, which also carries the Windows one.

import posix from './path/posix.js';
import win32 from './path/win32.js';

posix.win32 = win32.win32 = win32;
posix.posix = win32.posix = posix;

export { posix, win32 };
export default posix;
