#!/usr/bin/env -S node --no-warnings
// A shebang line is no code; lines count from it.
console.log(
  new Error('x').stack
    .split('\n')[1]
    .trim()
    .replace(/\(?file:.*\//, ''),
);
