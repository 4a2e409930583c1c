/**
 * Joins files.
 *
 * @example join a b
 */
export {};
