"""Hashes inputs of many lengths, in pieces, and prints a hash of these hashes."""

import hashlib
import hmac

for name in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha3_256", "blake2b"):
    total = hashlib.new(name)
    for size in range(400):
        data = bytes((i * 7 + size) & 255 for i in range(size))
        pieces = hashlib.new(name, data[: size // 3])
        pieces.update(data[size // 3 : size // 2])
        copy = pieces.copy()
        pieces.update(data[size // 2 :])
        copy.update(b"x")
        assert pieces.digest() == hashlib.new(name, data).digest(), (name, size)
        total.update(pieces.digest() + copy.digest())
    total.update(hashlib.new(name, bytes(1_000_003)).digest())
    print(name, total.hexdigest()[:32], hmac.new(b"k" * 200, b"d" * 1000, name).hexdigest()[:32])
