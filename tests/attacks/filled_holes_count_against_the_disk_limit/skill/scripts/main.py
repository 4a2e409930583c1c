import os

from until_full import put, until_full

names = sorted(name for name in os.listdir(".") if name.endswith(".hole"))
until_full("whole", lambda n: put(os.open(names[n], os.O_WRONLY), bytes(1 << 20)))

def block(n):
    fd = os.open(names[n], os.O_WRONLY)
    for at in range(0, 1 << 20, 4096):
        os.pwrite(fd, b"x", at)

until_full("one byte in each block", block)
