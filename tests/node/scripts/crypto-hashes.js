// Hashes and message codes, in all the ways they are asked for.
const crypto = require('crypto');
for (const name of [
  'md5',
  'sha1',
  'sha224',
  'sha256',
  'sha384',
  'sha512',
  'sha512-256',
  'sha3-256',
  'sha3-512',
  'ripemd160',
  'blake2b512',
  'blake2s256',
  'SHA256',
  'RSA-SHA256',
]) {
  console.log(name.padEnd(10), crypto.createHash(name).update('hello').digest('hex'));
}
const hash = crypto.createHash('sha256');
console.log(
  hash
    .update('a')
    .update(Buffer.from('b'))
    .update(new Uint8Array([99])) === hash,
);
const copy = hash.copy();
console.log(
  hash.digest('base64'),
  copy.update('d').digest('base64url'),
  crypto.createHash('sha256').update('abc').digest(),
);
console.log(
  crypto.createHash('sha1').update('616263', 'hex').digest('hex'),
  crypto.createHash('md5').digest('hex'),
  crypto.createHash('md5').update('ü', 'latin1').digest('latin1').length,
);
console.log(
  crypto.hash('sha256', 'abc'),
  crypto.hash('md5', Buffer.from('abc'), 'base64'),
  crypto.hash('sha1', 'abc', 'buffer').length,
);
console.log(
  crypto.createHmac('sha256', 'key').update('data').digest('hex'),
  crypto.createHmac('sha1', Buffer.alloc(100, 1)).update('data').digest('base64'),
  crypto.createHmac('md5', '').update('').digest('hex'),
);
console.log(crypto.createHash('shake256', { outputLength: 8 }).update('x').digest('hex'));
console.log(['md5', 'sha1', 'sha256', 'sha512'].every((name) => crypto.getHashes().includes(name)));
for (const action of [
  () => crypto.createHash('nope'),
  () => crypto.createHash(5),
  () => crypto.createHash('md5').update(5),
  () => crypto.createHash('md5').update(),
  () => {
    const done = crypto.createHash('md5');
    done.digest();
    done.digest();
  },
  () => {
    const done = crypto.createHash('md5');
    done.digest();
    done.update('x');
  },
  () => crypto.createHmac('nope', 'k'),
  () => crypto.createHmac('md5'),
  () => crypto.createHmac('md5', 5),
  () => crypto.createHash('md5').copy().digest('hex').length,
]) {
  try {
    console.log(action());
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
const stream = crypto.createHash('sha256');
stream.on('readable', () => {
  const data = stream.read();
  if (data) console.log('stream', data.toString('hex'));
});
stream.write('by ');
stream.end('stream');
