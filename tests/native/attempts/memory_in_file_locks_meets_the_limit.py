# limits: memory=64 processes=16 files=256 time=20
# Locks are memory of the kernel's that no control group counts. Four processes take up to 240000 each, 180 MiB in all; the
# kernel appends each to a list, so they begin at the end of a file.
import fcntl, time


def lock():
    for number in range(240):
        file = os.open(f"locked{os.getpid()}_{number}", os.O_RDWR | os.O_CREAT)
        for at in range(1000, 0, -1):
            fcntl.lockf(file, fcntl.LOCK_SH, 1, 2 * at)


print("up to 960000 locks", flush=True)
for _ in range(4):
    if os.fork() == 0:
        try:
            lock()
        except OSError:
            pass
        time.sleep(1000)
time.sleep(1000)
