// Hashes inputs of many lengths, in pieces, and prints a hash of these hashes.
import crypto from 'node:crypto';

for (const name of ['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512']) {
  const total = crypto.createHash(name);
  for (let size = 0; size < 400; size++) {
    const data = Buffer.from(Array.from({ length: size }, (_, i) => i * 7 + size));
    const pieces = crypto.createHash(name).update(data.subarray(0, size / 3)).update(data.subarray(size / 3, size / 2));
    const copy = pieces.copy();
    pieces.update(data.subarray(size / 2));
    total.update(pieces.digest()).update(copy.update('x').digest());
  }
  total.update(crypto.createHash(name).update(Buffer.alloc(1_000_003)).digest());
  console.log(name, total.digest('hex'), crypto.createHmac(name, 'k'.repeat(200)).update('d'.repeat(1000)).digest('hex'));
}
