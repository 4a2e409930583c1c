import os

from until_full import put, until_full

MIB = bytes(1024 * 1024)
first = os.open("/tmp/bytes", os.O_CREAT | os.O_WRONLY)
until_full("write", lambda n: put(first, MIB))
print("at most 64 MiB are there:", os.stat("/tmp/bytes").st_size <= 64 << 20)
second = os.open("/tmp/bytes", os.O_WRONLY | os.O_APPEND)
until_full("append", lambda n: put(second, MIB))
os.close(first)
os.close(second)
os.remove("/tmp/bytes")
print("after removing it:", open("/tmp/again", "wb").write(MIB))
