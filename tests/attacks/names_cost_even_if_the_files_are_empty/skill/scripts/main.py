import errno, os, sys

def until_full(what, step):
    count = 0
    try:
        while count < int(sys.argv[1]):
            step(count)
            count += 1
    except OSError as error:
        print(f"{what}: {type(error).__name__} {errno.errorcode[error.errno]}")
    else:
        print(f"{what}: no end after {count}")

def put(fd, data):
    while data:
        data = data[os.write(fd, data):]


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
