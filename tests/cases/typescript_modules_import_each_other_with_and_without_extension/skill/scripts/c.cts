exports.c = 'c' as string;
