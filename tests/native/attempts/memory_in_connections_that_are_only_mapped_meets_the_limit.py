# limits: memory=64 files=64 processes=16 time=20 network=1
# Bytes that wait in connections of which the program has closed both handles, after it has mapped them to memory.
import mmap, time

listener = socket.create_server(("127.0.0.1", 0), backlog=128)
print("up to 90 connections without a handle", flush=True)
libc.mmap.restype = ctypes.c_void_p
# The list of mappings has this name in it.
named = os.open(b"\xff", os.O_RDWR | os.O_CREAT)
os.write(named, b"x")
kept = [mmap.mmap(named, 1)]
for _ in range(90):
    one = socket.create_connection(listener.getsockname())
    other = listener.accept()[0]
    one.setblocking(False)
    try:
        for _ in range(2000):
            one.send(b"x" * (1 << 15))
    except BlockingIOError:
        pass
    for end in (one, other):
        kept.append(libc.mmap(None, ctypes.c_size_t(mmap.PAGESIZE), mmap.PROT_READ, mmap.MAP_SHARED, end.fileno(), ctypes.c_long(0)))
        end.close()
    if kept[-1] == ctypes.c_void_p(-1).value:
        print(called(ctypes.get_errno()))
        break
time.sleep(1000)
