# limits: memory=64 time=20
# Each page of a table costs the one page that is read through it, which is the same for all: the page of zeros.
import mmap, time

libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.prctl(41, 1, 0, 0, 0)  # PR_SET_THP_DISABLE
# Tables go with their process and not before: a kernel in need looks for another one to end, and finds these.
for each in range(8):
    if os.fork() == 0:
        time.sleep(1000)
print("256 MiB of page tables", flush=True)
count, step = 65536, 2 << 20
NORESERVE = 0x4000
flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE
held = libc.mmap(None, count * step, mmap.PROT_READ, flags, -1, 0)
if held == 2**64 - 1:
    sys.exit(called(ctypes.get_errno()))
for page in range(count):
    ctypes.c_byte.from_address(held + page * step).value
# It is looked at now and then.
time.sleep(1000)
