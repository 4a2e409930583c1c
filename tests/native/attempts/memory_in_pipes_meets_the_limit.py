# limits: memory=64 files=256 processes=32 time=20 workspace=0
# The same with pipes: 16 processes with 120 pipes of 64 KiB each, which is 120 MiB. The kernel gives a user who has
# very many small ones, so what they hold may be less; each counts as a whole one where only the supervisor counts.
import fcntl, time


def fill():
    pipes = []
    for _ in range(120):
        reading, writing = os.pipe()
        pipes.append((reading, writing))
        try:
            fcntl.fcntl(writing, 1031, 1 << 20)  # F_SETPIPE_SZ
        except PermissionError:
            pass
        os.set_blocking(writing, False)
        try:
            while True:
                os.write(writing, b"x" * (1 << 15))
        except BlockingIOError:
            pass
    held = b"x" * (1 << 20)
    time.sleep(1000)


print("up to 120 MiB in pipes", flush=True)
for _ in range(16):
    if os.fork() == 0:
        fill()
status = os.wait()[1]
os.kill(os.getpid(), os.WTERMSIG(status) if os.WIFSIGNALED(status) else signal.SIGABRT)
