import os

from until_full import put, until_full

held = []

def removed_but_open(n):
    held.append(os.open("/tmp/name", os.O_CREAT | os.O_WRONLY))
    os.remove("/tmp/name")
    put(held[-1], bytes(1 << 20))

until_full("removed but open", removed_but_open)
print("names left:", os.listdir("/tmp"), "held at most 64:", len(held) <= 64)
for fd in held:
    os.close(fd)
print("after closing them:", open("/tmp/again", "wb").write(bytes(1 << 20)))
