#!/usr/bin/env node
/* One line. */
'use strict';
