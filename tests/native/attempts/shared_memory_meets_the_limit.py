# limits: memory=64 time=20
import mmap, time
print("512 MiB of shared memory", flush=True)
held = mmap.mmap(-1, 512 << 20)
for page in range(0, 512 << 20, 4096):
    held[page] = 1
print("had")
