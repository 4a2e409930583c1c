// The module `process`. A live binding: modules that `process` itself stands on import it too.

export { process as default } from '../internal/process.js';
