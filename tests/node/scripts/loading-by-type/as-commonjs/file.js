exports.kind = typeof require === 'undefined' ? 'module' : 'commonjs';
