'use strict';

// After a directive.
