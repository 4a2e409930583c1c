"""Hashes and checks blocks of bytes."""

import base64
import hashlib
import zlib

block = bytes(range(256)) * 256
digest = b""
total = 0
for n in range(700):
    digest = hashlib.sha256(digest + block).digest()
    total += zlib.crc32(block, n)
name = hashlib.md5(base64.b64encode(block * 8)).hexdigest()
packed = zlib.compress(block * 16, 6)
print(digest.hex()[:16], total, name[:16], len(zlib.decompress(packed)))
