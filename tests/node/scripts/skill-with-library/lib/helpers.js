exports.slug = (text) =>
  text
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
exports.chunk = (list, size) => (list.length ? [list.slice(0, size), ...exports.chunk(list.slice(size), size)] : []);
exports.calledBy = (module) => module.filename.split('/').slice(-2).join('/');
