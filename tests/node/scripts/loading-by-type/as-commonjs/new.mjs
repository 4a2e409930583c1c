export const kind = 'new';
