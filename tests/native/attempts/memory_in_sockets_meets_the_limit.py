# limits: memory=64 files=256 processes=16 time=20 workspace=0
# Bytes that wait in sockets are memory of the kernel's. Six processes fill as many sockets as they can, each up to 60 MiB;
# where a socket may be made larger, a few of them hold that much.
import time

MOST = 60 << 20


def fill():
    pairs, held = [], 0
    while held < MOST:
        try:
            pair = socket.socketpair()
        except OSError as error:
            assert error.errno == errno.EMFILE, called(error.errno)
            break
        pairs.append(pair)
        for each in pair:
            try:
                each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
            except PermissionError:
                pass
            each.setblocking(False)
            try:
                while held < MOST:
                    held += each.send(b"x" * (1 << 15))
            except BlockingIOError:
                pass
    time.sleep(1000)


print("up to 360 MiB in sockets", flush=True)
for _ in range(6):
    if os.fork() == 0:
        fill()
# Where the kernel counts, it ends one of them; the program then does as a shell would that lost its pipeline.
status = os.wait()[1]
os.kill(os.getpid(), os.WTERMSIG(status) if os.WIFSIGNALED(status) else signal.SIGABRT)
