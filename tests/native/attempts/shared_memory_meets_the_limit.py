# limits: memory=64 time=20
# Where no control group counts it there is none to be had, but for that in files; other memory leads to the same end.
import mmap, time

print("512 MiB of shared memory", flush=True)
try:
    held = mmap.mmap(-1, 512 << 20)
    for page in range(0, 512 << 20, 4096):
        held[page] = 1
    print("had", flush=True)
except OSError as error:
    assert error.errno == errno.ENOMEM, called(error.errno)
for each in range(4):
    if os.fork() == 0:
        held = b"x" * (32 << 20)
        time.sleep(1000)
time.sleep(1000)
