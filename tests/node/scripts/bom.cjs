// A byte order mark at the start is skipped.
console.log(__filename.endsWith("bom.cjs"), "﻿".length);
