// The most usual of all errors, in the engine's words.
const config = { server: null };
function port() {
  return config.server.port;
}
console.log('before');
console.log(port());
