// The engine's functions. The bundle is a function that is called with them once, when the snapshot is made: there
// is no global to find them by. Call them in place (`binding.stat(…)`): handed on as values, a patched
// `Function.prototype.call` or `Array.prototype.map` would see them.
/* global $binding */

export const binding = $binding;
