export const answer = 'module';
