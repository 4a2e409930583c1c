# limits: memory=128 processes=32 files=256 time=20
# Reading the list of all locks takes long if many read it. That must not postpone the count of the program's own ones.
import fcntl, time

ready, go = os.pipe()
for _ in range(24):
    if os.fork() == 0:
        os.close(go)
        # Until the program ends.
        while True:
            with open("/proc/locks", "rb") as file:
                file.read()
files = [os.open(f"locked{number}", os.O_RDWR | os.O_CREAT) for number in range(200)]
print("up to 200000 locks", flush=True)
for at in range(1000, 0, -1):
    for file in files:
        fcntl.lockf(file, fcntl.LOCK_SH, 1, 2 * at)
print("all are taken")
