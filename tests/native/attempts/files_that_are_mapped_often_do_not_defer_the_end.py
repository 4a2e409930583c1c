# limits: memory=768 disk=64 time=4 processes=24
# What is mapped of a file is no memory of its own, and takes long to be told from it.
import mmap, time

libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
SIZE = 32 << 20
with open(f"{WORKSPACE}/file", "wb") as file:
    file.write(b"x" * SIZE)
handle = os.open(f"{WORKSPACE}/file", os.O_RDONLY)
POPULATE = 0x8000
print("files mapped again and again", flush=True)
for each in range(16):
    if os.fork() == 0:
        for again in range(500):
            libc.mmap(None, SIZE, mmap.PROT_READ, mmap.MAP_PRIVATE | POPULATE, handle, 0)
        time.sleep(1000)
time.sleep(1000)
