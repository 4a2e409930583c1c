# limits: memory=64 time=20
# Shared memory stays when its pages are dropped from the tables of those who share it. Where no control group counts
# it, there is none to be had; then other memory, which is counted, leads to the same end.
import mmap, time


def fill(how, held):
    step = 8 << 20
    for start in range(0, len(held), step):
        held[start : start + step] = b"x" * step
        held.madvise(mmap.MADV_DONTNEED, start, step)
    print(how, "had", flush=True)


def shared(how, make):
    try:
        fill(how, make())
    except OSError as error:
        assert error.errno in (errno.ENOMEM, errno.EACCES), called(error.errno)


print("256 MiB of shared memory", flush=True)
shared("without a file:", lambda: mmap.mmap(-1, 256 << 20))
shared("of zeros:", lambda: mmap.mmap(os.open("/dev/zero", os.O_RDWR), 256 << 20))
for each in range(4):
    if os.fork() == 0:
        held = b"x" * (32 << 20)
        time.sleep(1000)
time.sleep(1000)
