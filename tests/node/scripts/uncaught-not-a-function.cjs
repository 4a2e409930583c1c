// Something called that cannot be.
const api = { list: [] };
api.list.each((item) => console.log(item));
