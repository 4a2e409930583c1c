// Derived keys, random values (their properties), constant-time comparison.
import crypto, {
  randomBytes,
  randomUUID,
  randomInt,
  timingSafeEqual,
  pbkdf2Sync,
  scryptSync,
  hkdfSync,
} from 'node:crypto';
import { promisify } from 'util';

console.log(
  pbkdf2Sync('password', 'salt', 1000, 32, 'sha256').toString('hex'),
  pbkdf2Sync('p', Buffer.from('s'), 1, 10, 'sha512').toString('base64'),
);
console.log(
  scryptSync('password', 'salt', 32).toString('hex'),
  scryptSync('p', 's', 16, { N: 1024, r: 8, p: 2 }).toString('hex'),
);
console.log(Buffer.from(hkdfSync('sha256', 'key', 'salt', 'info', 42)).toString('hex'));
console.log(
  (await promisify(crypto.pbkdf2)('p', 's', 2, 8, 'sha1')).toString('hex'),
  (await promisify(crypto.scrypt)('p', 's', 8, { N: 16 })).toString('hex'),
);
console.log(Buffer.from(await promisify(crypto.hkdf)('sha512', 'k', '', '', 5)).toString('hex'));

const bytes = randomBytes(16);
console.log(
  Buffer.isBuffer(bytes),
  bytes.length,
  randomBytes(0).length,
  !bytes.equals(randomBytes(16)),
  (await promisify(randomBytes)(4)).length,
);
console.log(
  /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(randomUUID()),
  randomUUID() !== randomUUID(),
  typeof globalThis.crypto.randomUUID(),
);
const draws = Array.from({ length: 500 }, () => randomInt(3, 6));
console.log([...new Set(draws)].sort(), randomInt(1), await promisify(randomInt)(1, 2));
console.log(
  crypto.randomFillSync(Buffer.alloc(8)).some((x) => x !== 0),
  crypto.getRandomValues(new Uint32Array(4)).length,
  crypto.webcrypto === globalThis.crypto,
);
console.log(
  timingSafeEqual(Buffer.from('abc'), Buffer.from('abc')),
  timingSafeEqual(Buffer.from('abc'), Buffer.from('abd')),
);
for (const action of [
  () => timingSafeEqual(Buffer.from('a'), Buffer.from('ab')),
  () => timingSafeEqual('a', 'a'),
  () => randomBytes(-1),
  () => randomBytes('5'),
  () => randomInt(5, 5),
  () => randomInt('x'),
  () => randomInt(0.5),
  () => pbkdf2Sync('p', 's', 0, 8, 'sha1'),
  () => pbkdf2Sync('p', 's', 1, 8, 'nope'),
  () => pbkdf2Sync('p', 's', 1, 8),
  () => scryptSync('p', 's', 8, { N: 3 }),
  () => crypto.getRandomValues(new Float32Array(1)),
  () => crypto.getRandomValues(new Uint8Array(70000)),
]) {
  try {
    console.log(action());
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
