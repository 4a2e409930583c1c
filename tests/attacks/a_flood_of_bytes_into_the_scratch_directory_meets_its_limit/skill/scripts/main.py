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
