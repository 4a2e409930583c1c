try {
  require('./part.cts');
} catch (error) {
  console.log(error.name, error.code, JSON.stringify(error.message));
}
require('./part.cts');
