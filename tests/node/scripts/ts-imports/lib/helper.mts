export default (n: number): string => `size ${n}`;
export const twice = (n: number) => n * 2;
