export const kind = typeof require === 'undefined' ? 'module' : 'commonjs';
