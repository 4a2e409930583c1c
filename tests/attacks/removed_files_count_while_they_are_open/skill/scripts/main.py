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
