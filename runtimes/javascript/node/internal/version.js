// The Node version whose behaviour this layer follows.

export const VERSION = '24.19.0';
