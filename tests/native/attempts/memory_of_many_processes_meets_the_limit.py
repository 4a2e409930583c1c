# limits: memory=64 processes=32 time=20
import time

print("32 MiB in each of 16 processes", flush=True)
for number in range(16):
    if os.fork() == 0:
        held = bytearray(b"x") * (32 << 20)
        time.sleep(1000)
# Where the kernel limits them together, it takes one of them; elsewhere all are ended.
status = os.wait()[1]
os.kill(os.getpid(), os.WTERMSIG(status))
