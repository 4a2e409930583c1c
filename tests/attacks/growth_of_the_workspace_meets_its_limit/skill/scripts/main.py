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


chunk = bytes(256 * 1024)
until_full("write", lambda n: put(os.open(f"{n}.bin", os.O_CREAT | os.O_WRONLY), chunk))
print("at most 1 MiB is there:", sum(os.path.getsize(name) for name in os.listdir(".")) <= 1 << 20)
os.remove("0.bin")
until_full("sparse", lambda n: os.truncate("1.bin", (n + 2) << 20))
