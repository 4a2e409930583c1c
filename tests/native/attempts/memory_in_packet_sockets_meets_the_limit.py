# limits: memory=256 files=256 processes=16 time=20 workspace=0
# A socket for packets accepts one as large as its buffer as long as the buffer is not full. Four processes have 220 each, up
# to 320 MiB.
import time


def fill():
    sockets = []
    for _ in range(110):
        for each in (pair := socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)):
            each.setblocking(False)
            size = 32768
            for _ in range(5):
                try:
                    each.send(b"x" * size)
                except BlockingIOError:
                    break
            size = 212960
            while size > 0:
                try:
                    each.send(b"x" * size)
                except BlockingIOError:
                    break
                except OSError:
                    size -= 32
        sockets.append(pair)
    time.sleep(1000)


print("up to 320 MiB in packets", flush=True)
for _ in range(4):
    if os.fork() == 0:
        fill()
status = os.wait()[1]
os.kill(os.getpid(), os.WTERMSIG(status) if os.WIFSIGNALED(status) else signal.SIGABRT)
