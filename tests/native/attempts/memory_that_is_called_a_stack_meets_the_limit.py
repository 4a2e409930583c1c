# limits: memory=64 time=20
# x86_64 only
import time

print("512 MiB that grow downwards", flush=True)
libc.mmap.restype = ctypes.c_void_p
start = libc.mmap(None, ctypes.c_size_t(512 << 20), 3, 0x122, -1, 0)
ctypes.memset(start, 1, 512 << 20)
# It is looked at now and then.
time.sleep(1000)
