console.log(typeof require);
export const where = 'inner';
