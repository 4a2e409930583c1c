# limits: memory=64 scratch=48 file=64 time=20 workspace=0
# Each of these is within its own limit; together they are beyond the one on memory. Where the scratch directory is no
# file system in memory, another process leads to the same end.
import time

print("24 MiB in a process, 40 MiB in the scratch directory, 14 MiB of shared memory", flush=True)
in_memory = os.path.ismount(os.environ["TMPDIR"])
if not in_memory and os.fork() == 0:
    held = b"x" * (27 << 20)
    time.sleep(1000)
held = b"x" * ((24 if in_memory else 45) << 20)
if in_memory:
    for name, size in ((os.environ["TMPDIR"] + "/file", 40), ("/dev/shm/file", 14)):
        with open(name, "wb", buffering=0) as file:
            for _ in range(size):
                assert file.write(b"x" * (1 << 20)) == 1 << 20
time.sleep(1000)
