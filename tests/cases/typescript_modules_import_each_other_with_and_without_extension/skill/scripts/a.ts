export type A = string;
export const a: A = 'a';
