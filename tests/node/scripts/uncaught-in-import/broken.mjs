console.log('broken starts');
throw new Error('while loading');
export const value = 1;
