export default 'modern default';
export const value = 5;
