# limits: memory=64 scratch=24 file=64 time=20 workspace=0
# The twin: as much as there is room for, some of it mapped by several processes, which is no more memory.
import mmap, time

held = b"x" * (8 << 20)
where = "/dev/shm/file" if os.path.ismount(os.environ["TMPDIR"]) else os.environ["TMPDIR"] + "/file"
with open(where, "wb+") as file:
    file.write(b"x" * (12 << 20))
    file.flush()
    shared = mmap.mmap(file.fileno(), 12 << 20)
    mapped = len(bytes(shared))
    for _ in range(4):
        if os.fork() == 0:
            sum(shared[::4096])
            # Long enough to be looked at.
            time.sleep(0.3)
            os._exit(0)
    print("children:", sorted(os.wait()[1] for _ in range(4)))
print("mapped:", mapped >> 20, "MiB")
