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
