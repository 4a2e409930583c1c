import os

from until_full import until_full

def directory(n):
    os.mkdir(f"/tmp/{n}")

def link(n):
    os.link("/tmp/file", f"/tmp/l{n}")

def symlink(n):
    os.symlink("file", f"/tmp/s{n}")

def file(n):
    open(f"/tmp/f{n}", "w").close()

open("/tmp/file", "w").close()
for step in (directory, link, symlink, file):
    until_full(step.__name__, step)
    print("at most 1024 are there:", len(os.listdir("/tmp")) <= 1024)
