// crypto.subtle: digests, and keys for message codes.
const { subtle } = crypto;
const hex = (data) => Buffer.from(data).toString('hex');
for (const name of ['SHA-1', 'SHA-256', 'SHA-384', 'SHA-512']) {
  const digest = await subtle.digest(name, new TextEncoder().encode('hello'));
  console.log(name, digest instanceof ArrayBuffer, hex(digest));
}
console.log(hex(await subtle.digest({ name: 'sha-256' }, Buffer.from('hello').buffer.slice(0, 0))));
console.log(await subtle.digest('MD5', new Uint8Array()).catch((error) => [error.name, error.message]));
console.log(await subtle.digest('SHA-256', 'text').catch((error) => [error.name, error.code]));
const key = await subtle.importKey('raw', Buffer.from('secret'), { name: 'HMAC', hash: 'SHA-256' }, true, [
  'sign',
  'verify',
]);
const signature = await subtle.sign('HMAC', key, Buffer.from('data'));
console.log(key.type, key.algorithm, key.usages, key.extractable, hex(signature));
console.log(
  await subtle.verify('HMAC', key, signature, Buffer.from('data')),
  await subtle.verify('HMAC', key, signature, Buffer.from('datum')),
);
console.log(
  hex(await subtle.exportKey('raw', key)),
  (await import('crypto')).createHmac('sha256', 'secret').update('data').digest('hex') === hex(signature),
);
console.log(
  Object.prototype.toString.call(crypto),
  Object.prototype.toString.call(subtle),
  Object.prototype.toString.call(key),
  typeof CryptoKey,
);
