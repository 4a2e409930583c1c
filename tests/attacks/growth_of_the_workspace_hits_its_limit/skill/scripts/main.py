import os

from until_full import put, until_full

chunk = bytes(256 * 1024)
until_full("write", lambda n: put(os.open(f"{n}.bin", os.O_CREAT | os.O_WRONLY), chunk))
print("at most 1 MiB is there:", sum(os.path.getsize(name) for name in os.listdir(".")) <= 1 << 20)
os.remove("0.bin")
until_full("sparse", lambda n: os.truncate("1.bin", (n + 2) << 20))
