import os

from until_full import until_full

def seek(n):
    with open(f"/tmp/seek{n}", "wb") as file:
        os.pwrite(file.fileno(), b"x", 30 << 20)

def truncate(n):
    with open(f"/tmp/truncate{n}", "wb") as file:
        file.truncate(30 << 20)

until_full("truncate", truncate)
for name in os.listdir("/tmp"):
    os.remove(f"/tmp/{name}")
until_full("seek", seek)
